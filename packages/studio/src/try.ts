import { readRun } from '../../grpo/dist/trace/readers/index.js';
import { examine } from '../../grpo/dist/doctor/examine.js';
import { registry } from '../../grpo/dist/doctor/registry.js';
import { viewOf } from '../../grpo/dist/view/step-view.js';
import { tokenViews } from '../../grpo/dist/view/token-view.js';
import { replayRecord } from '../../grpo/dist/view/replay-record.js';
console.log(readRun, examine, registry, viewOf, tokenViews, replayRecord);
