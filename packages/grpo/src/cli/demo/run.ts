import { resolveConfig } from '../../config/index.js';
import { requireAlone } from '../../processes/rendezvous.js';
import { describeDevice } from '../../run/device.js';
import { type CommandArguments, EXIT } from '../command.js';
import { interruptible } from '../interrupt.js';
import { createReporter } from '../live.js';
import { describeStop, watcherOf } from '../training.js';
import { type ArmContext, EndedEarlyError, grpo, moreSft, shuffledRewards, warmUp } from './arms.js';
import { type DemoResult, demoData, describeDemo } from './demo-report.js';

/** `grpo demo`: an SFT warm-up and GRPO on generated arithmetic, from random weights to right answers. */
export async function run({ flags, settings }: CommandArguments): Promise<number> {
  requireAlone('grpo demo');
  const { config, provenance } = resolveConfig({ command: 'demo', settings });
  const { seed, device, threads, output } = config;
  const reporter = createReporter({ json: flags.json === true });
  using interrupt = interruptible(reporter.note, 'the demo ends');

  const rewards: number[] = [];
  const context = (watchRewards: boolean): ArmContext => ({
    options: { output, shared: { seed, device, threads } },
    signal: interrupt.signal,
    watcher: (steps, groups) => {
      const shown = watcherOf(reporter, steps, groups);
      return {
        ...shown,
        step: (row, timings) => {
          if (watchRewards) rewards.push(row.reward!);
          shown.step?.(row, timings);
        },
      };
    },
  });
  const start = performance.now();
  try {
    reporter.note(describeDevice(device, provenance.device!));
    reporter.note('1. SFT: a random model imitates a teacher who forgets most carries.');
    const sft = await warmUp(context(false));
    reporter.note('2. GRPO: 16 answers to each problem, rewarded when right.');
    const tuned = await grpo(context(true), sft.model);
    const seconds = (performance.now() - start) / 1000;
    let controls: DemoResult['controls'];
    if (flags.controls) {
      reporter.note('3. Instead of GRPO: more SFT with the same compute.');
      const imitated = await moreSft(context(false), sft.model, tuned.tokens, sft);
      reporter.note('4. Instead of GRPO: the same with shuffled rewards.');
      controls = { moreSft: imitated, shuffled: await shuffledRewards(context(false), sft.model) };
    }
    const result = { sft, grpo: tuned, controls, rewards, seconds };
    reporter.done({ text: describeDemo(result), data: demoData(result) });
    return 0;
  } catch (error) {
    if (!(error instanceof EndedEarlyError)) throw error;
    if (!error.stopped) return interrupt.exitCode;
    reporter.note(describeStop(error.stopped, error.output));
    return EXIT.finding;
  } finally {
    reporter.close();
  }
}
