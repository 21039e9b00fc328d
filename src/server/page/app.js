// The chat page: the chats, which of them is open, and what happens to it.

import { fetchModel } from "./api.js";
import { focusComposer, initComposer, setBusy } from "./composer.js";
import { Conversation } from "./conversation.js";
import { $ } from "./dom.js";
import { Generation } from "./generation.js";
import { initKeyDialog } from "./key_dialog.js";
import { announce, banner, hideToast, toast } from "./notices.js";
import { initSettings, showSettings } from "./settings.js";
import { closeDrawer, initDrawer, showChats } from "./sidebar.js";
import { chatIdOf, deleteChat, loadChat, loadChats, saveChat } from "./storage.js";
import { initTheme } from "./theme.js";

const RETRY_MS = 1500;
const TITLE_LENGTH = 60;
const NO_ROOM = "This browser has no room left for chats. Delete some, or this one is lost when you close the page.";

const running = new Map(); // chat -> its Generation
let chats = loadChats(); // newest first
let open = newChat();
let model = null;

// --- chats -----------------------------------------------------------------------------------------
function newChat(settings = {}) {
  return { id: crypto.getRandomValues(new Uint32Array(2)).join("-"), title: "", updated: 0, settings, messages: [] };
}

function keep(chat) {
  chat.updated = Date.now();
  banner(saveChat(chat) ? "" : NO_ROOM);
  chats = [chat, ...chats.filter((other) => other !== chat)];
  drawFrame();
}

function show(chat) {
  open = chat;
  history.replaceState(null, "", chat.updated ? `#${chat.id}` : location.pathname);
  conversation.show(chat, running.get(chat)?.message);
  showSettings(chat.settings);
  drawFrame();
}

function choose(chat) {
  show(chat);
  closeDrawer();
  focusComposer();
}

function remove(chat) {
  running.get(chat)?.stop();
  deleteChat(chat);
  chats = chats.filter((other) => other !== chat);
  if (chat === open) show(newChat(chat.settings));
  drawFrame();
  banner("");
  $("new-chat").focus();
  toast("Chat deleted.", () => {
    keep(chat);
    show(chat);
  });
}

// What stands around the messages: list, title, buttons, meter.
function drawFrame() {
  showChats(chats, open, { open: choose, remove });
  setBusy(running.has(open));
  if (document.activeElement !== $("title")) $("title").value = open.title;
  $("title").disabled = !open.updated;
  document.title = open.title ? `${open.title} · mlxforge` : "mlxforge";
  drawMeter();
}

function drawMeter() {
  const stats = open.messages.findLast((message) => message.stats)?.stats;
  const used = stats ? stats.prompt + stats.completion : 0;
  $("meter").hidden = !model || !used;
  $("meter-bar").value = model ? used / model.max_model_len : 0;
  if (model) $("meter-text").textContent = `${used.toLocaleString("en")} of ${model.max_model_len.toLocaleString("en")} tokens`;
}

// --- messages --------------------------------------------------------------------------------------
async function answer(chat) {
  const generation = new Generation(chat, (message) => conversation.redraw(message, true));
  running.set(chat, generation);
  keep(chat);
  show(chat);
  announce("The answer is being written");
  focusComposer();
  await generation.done;
  if (running.get(chat) !== generation) return; // another answer has taken its place
  running.delete(chat);
  conversation.redraw(generation.message, false);
  if (!chats.includes(chat)) return; // deleted meanwhile
  keep(chat);
  if (chat === open) announce(generation.message.error ?? generation.message.content);
}

function send(text) {
  if (running.has(open)) return false;
  hideToast();
  open.title ||= text.split("\n")[0].slice(0, TITLE_LENGTH);
  open.messages.push({ role: "user", content: text });
  answer(open);
  return true;
}

// Drops the messages from `index` on, and offers to bring them back where they were an answer.
function cut(chat, index, what) {
  const before = chat.messages.slice();
  running.get(chat)?.stop();
  chat.messages = chat.messages.slice(0, index);
  if (before.length > index)
    toast(what, () => {
      running.get(chat)?.stop();
      chat.messages = before;
      keep(chat);
      show(chat);
    });
}

function edit(message, text) {
  const index = open.messages.indexOf(message);
  if (message.role === "assistant") {
    message.content = text;
    keep(open);
    return conversation.redraw(message, false);
  }
  cut(open, index, "Message edited.");
  open.messages.push({ role: "user", content: text });
  answer(open);
}

function regenerate(message) {
  cut(open, open.messages.indexOf(message), "Answer replaced.");
  answer(open);
}

const conversation = new Conversation({ edit, regenerate });

function editLast() {
  const last = open.messages.findLast((message) => message.role === "user");
  if (last) conversation.views.get(last).edit();
}

// --- the page --------------------------------------------------------------------------------------
// Waits for the server, which may still be loading the model.
async function findModel() {
  try {
    model = await fetchModel();
    $("model").textContent = model.id;
    $("model").classList.remove("away");
    drawMeter();
  } catch (error) {
    $("model").textContent = error.message;
    $("model").classList.add("away");
    if (error.status !== 401) setTimeout(findModel, RETRY_MS);
  }
}

// Another tab has changed or deleted a chat.
function followOtherTabs(event) {
  const id = chatIdOf(event.key);
  const mine = chats.find((chat) => chat.id === id);
  if (!id || running.has(mine)) return;
  const theirs = loadChat(id);
  if (mine && theirs) Object.assign(mine, theirs);
  else chats = theirs ? [theirs, ...chats] : chats.filter((chat) => chat !== mine);
  if (mine === open) show(theirs ? mine : newChat(open.settings));
  else drawFrame();
}

function shortcuts(event) {
  if (event.key === "Escape" && running.has(open) && !event.target.closest("dialog")) running.get(open).stop();
  if (event.altKey && event.code === "KeyN") {
    event.preventDefault();
    choose(newChat(open.settings));
  }
}

function start() {
  initTheme();
  initKeyDialog();
  initDrawer();
  initComposer({ send, stop: () => running.get(open)?.stop(), editLast });
  initSettings((settings) => {
    open.settings = settings;
    if (open.updated) saveChat(open);
  });
  $("new-chat").addEventListener("click", () => choose(newChat(open.settings)));
  $("title").addEventListener("change", () => {
    open.title = $("title").value.trim() || open.title;
    keep(open);
  });
  addEventListener("keydown", shortcuts);
  addEventListener("storage", followOtherTabs);
  addEventListener("pagehide", () => running.forEach((_, chat) => saveChat(chat)));
  show(chats.find((chat) => `#${chat.id}` === location.hash) ?? open);
  focusComposer();
  findModel();
}

start();
