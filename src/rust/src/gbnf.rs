//! GBNF, the grammars of llama.cpp and of vLLM's `grammar`, as Lark.

use std::collections::HashMap;

use crate::Result;

/// Only GBNF defines rules with this sign.
pub fn is_gbnf(source: &str) -> bool {
    let defines = |line: &str| line.split_once("::=").is_some_and(|(name, _)| name.trim().chars().all(|c| is_name(&c)));
    source.lines().any(defines)
}

pub fn to_lark(source: &str) -> Result<String> {
    let tokens = tokens(source)?;
    let mut names = Names::default();
    let mut out = String::new();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Name(name) => {
                let defines = tokens.get(i + 1) == Some(&Token::Defines);
                out.push(if defines { '\n' } else { ' ' });
                out.push_str(&names.lark(name));
            }
            Token::Defines => out.push(':'),
            Token::Text(text) => out.push_str(&format!(" {}", serde_json::to_string(text)?)),
            Token::Class(class) => out.push_str(&format!(" /{class}/")),
            Token::Operator(operator) => out.push_str(operator),
        }
    }
    Ok(out)
}

#[derive(PartialEq)]
enum Token {
    Name(String),
    Defines,
    Text(String),
    Class(String),    // as a regular expression
    Operator(String), // written as in Lark
}

/// Lark tells rules from terminals by their letters, and begins with `start`.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn lark(&mut self, name: &str) -> String {
        if name == "root" {
            return "start".into();
        }
        let next = self.0.len();
        format!("rule_{}", *self.0.entry(name.into()).or_insert(next))
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn tokens(source: &str) -> Result<Vec<Token>> {
    let mut chars = source.chars().peekable();
    let mut out = Vec::new();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => {}
            '#' => drop(chars.by_ref().find(|c| *c == '\n')),
            '"' => out.push(Token::Text(text(&mut chars)?)),
            '[' => out.push(Token::Class(class(&mut chars)?)),
            '.' => out.push(Token::Class("(?s:.)".into())),
            ':' if chars.by_ref().take(2).eq(":=".chars()) => out.push(Token::Defines),
            '{' => out.push(Token::Operator(format!("{{{}", until(&mut chars, '}')?))),
            '(' | ')' | '|' | '*' | '+' | '?' => out.push(Token::Operator(c.into())),
            c if is_name(&c) => {
                let mut name = String::from(c);
                while let Some(c) = chars.next_if(is_name) {
                    name.push(c);
                }
                out.push(Token::Name(name));
            }
            c => return Err(format!("unexpected {c:?} in the grammar").into()),
        }
    }
    Ok(out)
}

fn is_name(c: &char) -> bool {
    c.is_ascii_alphanumeric() || *c == '-' || *c == '_'
}

/// Up to and with `end`.
fn until(chars: &mut Chars, end: char) -> Result<String> {
    let mut out = String::new();
    for c in chars.by_ref() {
        out.push(c);
        if c == end {
            return Ok(out);
        }
    }
    Err(format!("the grammar ends before {end:?}").into())
}

fn text(chars: &mut Chars) -> Result<String> {
    let mut out = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(out),
            '\\' => out.push(escaped(chars)?),
            c => out.push(c),
        }
    }
    Err("the grammar ends inside a text".into())
}

fn class(chars: &mut Chars) -> Result<String> {
    let mut out = String::from("[");
    while let Some(c) = chars.next() {
        match c {
            ']' => return Ok(out + "]"),
            '\\' => out.push_str(&format!("\\u{{{:x}}}", u32::from(escaped(chars)?))),
            '^' if out == "[" => out.push('^'),
            '-' => out.push('-'),
            c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    Err("the grammar ends inside a class".into())
}

fn escaped(chars: &mut Chars) -> Result<char> {
    let digits = match chars.next() {
        Some('n') => return Ok('\n'),
        Some('r') => return Ok('\r'),
        Some('t') => return Ok('\t'),
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        Some(c) => return Ok(c),
        None => return Err("the grammar ends inside an escape".into()),
    };
    let code = u32::from_str_radix(&chars.by_ref().take(digits).collect::<String>(), 16)?;
    char::from_u32(code).ok_or_else(|| format!("{code:x} is no character").into())
}
