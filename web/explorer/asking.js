// Questions to the server: only the last one asked may answer.

export class Asking {
  #number = 0;
  #under = null;

  // question: {target, document?}. Calls done({answer, milliseconds}) or done({trouble}) unless another was asked meanwhile.
  async ask(question, done) {
    const number = ++this.#number;
    this.#under?.abort();
    this.#under = new AbortController();
    const began = performance.now();
    let result;
    try {
      const reply = await fetch(question.target, {
        signal: this.#under.signal, cache: "no-store", credentials: "omit", redirect: "error",
        ...(question.document === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: question.document }),
      });
      const document = await reply.json();
      result = reply.ok && document.schema !== "rung.error/1" ? { answer: document, milliseconds: performance.now() - began } : { trouble: document.message ?? `The server says ${reply.status}.` };
    } catch (error) {
      if (error.name === "AbortError") return;
      result = { trouble: "The server does not answer. Is rung serve still running?" };
    }
    if (number === this.#number) done(result);
  }
}
