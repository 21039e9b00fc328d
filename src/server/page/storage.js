// What the browser keeps: chats one key each, so that two tabs do not overwrite each other's, and
// preferences. A browser may refuse both; then everything lasts as long as the page.

const CHAT = "mlxforge.chat.";
const PREFERENCE = "mlxforge.";

function reach(kind) {
  try {
    return window[kind];
  } catch {
    return null;
  }
}

const kept = reach("localStorage");
const session = reach("sessionStorage");

// False: there is no room, or the browser keeps nothing.
function write(store, key, value) {
  try {
    store.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

function parseChat(text) {
  try {
    const chat = JSON.parse(text);
    return Array.isArray(chat.messages) && chat.id ? chat : null;
  } catch {
    return null;
  }
}

const isChat = (key) => key.startsWith(CHAT);

export const chatIdOf = (key) => (key && isChat(key) ? key.slice(CHAT.length) : null);
export const loadChat = (id) => parseChat(kept?.getItem(CHAT + id) ?? null);
export const saveChat = (chat) => write(kept, CHAT + chat.id, JSON.stringify(chat));
export const deleteChat = (chat) => kept?.removeItem(CHAT + chat.id);

// Newest first.
export function loadChats() {
  const ids = Object.keys(kept ?? {}).filter(isChat).map(chatIdOf);
  return ids.map(loadChat).filter(Boolean).sort((a, b) => b.updated - a.updated);
}

export const loadPreference = (name) => kept?.getItem(PREFERENCE + name) ?? null;
export const savePreference = (name, value) => write(kept, PREFERENCE + name, value);

// The key outlives a reload, not the tab; where the browser keeps nothing, not even that.
let heldKey = session?.getItem("mlxforge.key") ?? "";
export const apiKey = () => heldKey;
export function setApiKey(key) {
  heldKey = key;
  write(session, "mlxforge.key", key);
}
