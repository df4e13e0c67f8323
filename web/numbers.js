// Numbers as people read them.

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const superscript = (n) => String(n).split("").map((c) => SUPERSCRIPT[c] ?? c).join("");

// 8748 -> "8,748"; 9510.61 -> "9,510.6"; 1.2e9 -> "1.2·10⁹".
export function short(value, digits = 1) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e7) {
    const power = Math.floor(Math.log10(size));
    const lead = Math.round((value / 10 ** power) * 10) / 10;
    return lead === 10 ? `10${superscript(power + 1)}` : lead === 1 ? `10${superscript(power)}` : `${lead}·10${superscript(power)}`;
  }
  if (size > 0 && size < 0.001) return value.toExponential(1);
  const places = Number.isInteger(value) ? 0 : size < 1 ? 3 : digits;
  return value.toLocaleString("en-US", { maximumFractionDigits: places });
}

export const percent = (share) => (
  share === null || share === undefined ? "–" : `${(100 * share).toLocaleString("en-US", { maximumFractionDigits: share > 0.995 && share < 1 ? 2 : 1 })} %`);
export const sizeText = (size) => (
  !size || typeof size !== "object" ? "" : Object.entries(size).map(
    ([name, value]) => `${name} = ${value}`).join(", "));
export const log2 = Math.log2;
// 1 -> "one full layer"
export const plural = (n, word) => `${short(n)} ${word}${n === 1 ? "" : "s"}`;
