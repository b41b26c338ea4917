import { createColors } from 'picocolors';

const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
const terminal = Boolean(process.stdout.isTTY) && TERM !== 'dumb';
const isColored = !NO_COLOR && (terminal || Boolean(FORCE_COLOR));

/** Colours of the output: on a terminal, or where FORCE_COLOR asks for them; a file or a pipe gets plain text. */
export const colors = createColors(isColored);
