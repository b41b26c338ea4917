import { info as bench } from './bench/info.js';
import type { CommandInfo } from './command.js';
import { info as dataCheck } from './data/check/info.js';
import { info as dataChess } from './data/chess/info.js';
import { info as dataConvert } from './data/convert/info.js';
import { info as dataCountdown } from './data/countdown/info.js';
import { info as dataRestore } from './data/restore/info.js';
import { info as demo } from './demo/info.js';
import { info as diff } from './diff/info.js';
import { info as doctor } from './doctor/info.js';
import { info as env } from './env/info.js';
import { info as evaluate } from './eval/info.js';
import { info as expert } from './expert/info.js';
import { info as explain } from './explain/info.js';
import { info as exportModel } from './export/info.js';
import { info as fetch } from './fetch/info.js';
import { info as generate } from './generate/info.js';
import { info as inspect } from './inspect/info.js';
import { info as merge } from './merge/info.js';
import { info as rewardCheck } from './reward/check/info.js';
import { info as serve } from './serve/info.js';
import { info as setup } from './setup/info.js';
import { info as sft } from './sft/info.js';
import { info as step } from './step/info.js';
import { info as studio } from './studio/info.js';
import { info as tinyModel } from './tiny-model/info.js';
import { info as train } from './train/info.js';

/** Every command of `grpo`, in the order of the help. A command is a folder: `info.ts` is listed here, `run.ts` does the work. */
export const commands: readonly CommandInfo[] = [
  train,
  sft,
  expert,
  evaluate,
  generate,
  serve,
  merge,
  exportModel,
  bench,
  explain,
  diff,
  setup,
  fetch,
  tinyModel,
  dataCheck,
  dataConvert,
  dataRestore,
  dataCountdown,
  dataChess,
  rewardCheck,
  inspect,
  step,
  doctor,
  studio,
  env,
  demo,
];
