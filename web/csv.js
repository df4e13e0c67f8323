// Tables for spreadsheets (RFC 4180). A text that one would take for a formula begins with an apostrophe; control characters are
// written \xNN; numbers are as they are.

const plain = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replace(
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g,
  (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);

function cell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? plain(value) : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (columns, rows) => `${[columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
