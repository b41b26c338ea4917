/** The ways in which a server fails to answer. */

/** There was no whole answer: no connection, a lost one, none in time, or the server is busy or breaking down. */
export class NoAnswer extends Error {
  constructor(
    message: string,
    /** Whether the server got the request: the request itself may then be what breaks it. */
    readonly wasSent: boolean,
    /** How long the server wants to be left alone. */
    readonly retryAfterSeconds = 0,
  ) {
    super(message);
  }
}

/** The server refuses the request: it would refuse it again. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The answer is whole, but not the one that was asked for. */
export class WrongAnswer extends Error {}
