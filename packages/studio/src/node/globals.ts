/** Globals of Node that the readers use; imported before them. */
import { Buffer } from './buffer.js';

Object.assign(globalThis, { Buffer, process: { env: {}, platform: 'browser', versions: {} } });
