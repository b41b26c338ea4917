/** A request was ended on the server's side: by a pause, by new weights, or by the engine's end. */
export class RequestAborted extends Error {
  /** @param why - such as `the server was paused` */
  constructor(why: string) {
    super(`the request was aborted: ${why}`);
    this.name = new.target.name;
  }
}
