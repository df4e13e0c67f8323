// Formulas, set by KaTeX. What a theorem compares, in its symbols (docs/theorems.md has the proofs).
import katex from "katex";
import { el } from "./dom.js";

const T = String.raw;
const COUNTED = {
  "recurrent-eva": T`n \lg n \;>\; s`,
  "recurrent-index": T`n \lg \sigma \;>\; s`,
  "recurrent-recall": T`n \lg v \;>\; s`,
  "recurrent-seqcomp": T`N_{L-1} \lg N_{L-1} \;>\; s`,
  "recurrent-two-sum": T`\lg \sum_{j=1}^{n} \binom{M}{j} \;>\; s`,
  "recurrent-two-sum-exists": T`\lg \sum_{j} \binom{M'}{j} \;>\; s`,
  "log-linear-eva": T`2^{\lfloor \lg n \rfloor} \lg n \;>\; s_{\mathrm{level}}`,
  "log-linear-index": T`2^{\lfloor \lg n \rfloor} \lg \sigma \;>\; s_{\mathrm{level}}`,
  "log-linear-two-sum": T`\lg \binom{M'}{2^{\lfloor \lg n \rfloor}} \;>\; s_{\mathrm{level}}`,
  "log-linear-seqcomp": T`2^{\lfloor \lg N \rfloor} \lg N \;>\; s_{\mathrm{level}}`,
  "sparse-two-sum": T`\lg \binom{M'}{B} \;>\; b_{\mathrm{cmp}}`,
  "one-full-layer-late": T`T\, x_0\, y \lg N_1 \;>\; (x_0 + y + 1)\, M_{\mathrm{part}} + T\, s_1`,
  "one-full-layer-early": T`\left\lceil \tfrac{T x_0}{2} \right\rceil y \lg N_1 \;>\; T (s_0 + s_1) + s_0 + 1 + M_{\mathrm{part}}\, x_0 (2y + 1)`,
  "two-full-layers": T`\left\lceil \tfrac{T x_0}{2} \right\rceil y \lg N_1 \;>\; M_{\mathrm{part}} (x_0 y + x_0 + y + 1) + M_{\mathrm{out}}\, T\, m`,
  "decomposition-fewer": T`J_L \lg N_{L-1} \;>\; \Delta_L`,
  "decomposition-equal": T`J_L \lg N_{L-1} \;>\; \Delta_L`,
  "head-wise": T`J_L \lg N_{L-1} \;>\; \Delta_L`,
  "eva-full": T`\delta = \sum_{h=1}^{D} \binom{D}{h}\, e^{-\min(2\beta h,\, 2^{p-1})} \;<\; 1`,
  "index-full": T`\delta = \sum_{h=1}^{D} \binom{D}{h}\, e^{-\min(2\beta h,\, 2^{p-1})} \;<\; 1`,
  "retrieval-full": T`\delta = \sum_{h=1}^{D} \binom{D}{h}\, e^{-\min(2\beta h,\, 2^{p-1})} \;<\; 1`,
  "seqcomp-full": T`\#F \;\ge\; L + 1`,
  "seqcomp-recurrence": T`\#F = L \text{ and an } R \text{ before the second } F`,
  "two-sum-full": T`\mathrm{score} = c \cos \frac{2\pi (x_i + x_j)}{M}, \qquad 1 - \cos\tfrac{2\pi}{M} \;\ge\; \tfrac{8}{M^2}`,
  "eva-linear": T`d^2 \lceil \lg n \rceil \;\ge\; n \lg n, \qquad d = \lceil \sqrt n\, \rceil`,
};

export const theoremFormula = (id) => COUNTED[id];

export function formula(tex, display = false) {
  const box = el(display ? "div" : "span", { class: "tex" });
  katex.render(tex, box, { displayMode: display, throwOnError: false, output: "htmlAndMathml" });
  return box;
}
