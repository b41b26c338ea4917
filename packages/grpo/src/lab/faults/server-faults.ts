/** A server samples, and is not what it says. */
import { type OwningDecoder, weightsChecksum } from '../../models/index.js';
import { Inspection, WrongWeightsError } from '../../remote/inspection.js';
import type { Stages } from '../../step/stages.js';
import type { LabRun } from '../lab-run.js';
import { type Lies, LyingServer } from '../lying-server.js';
import type { PlantedFault } from './planted-fault.js';

/** A run that samples on a server, and goes on where the probe would have stopped it: the record is to show it. */
export function served(lies: Lies, run: LabRun = {}): LabRun {
  let server: LyingServer | undefined;
  return {
    steps: 3,
    ...run,
    plant: ({ model, config, sampling, stages }) => {
      const owner = { ...model, decoder: model.decoder as OwningDecoder };
      server = new LyingServer(owner);
      let inspection: Inspection | undefined;
      let checksum: number | undefined;
      let version = 0;
      const look = async (prompt: readonly number[]) => {
        if (checksum === weightsChecksum(model.decoder)) return;
        checksum = weightsChecksum(model.decoder);
        const { temperature, maxNewTokens } = sampling;
        inspection ??= new Inspection(
          { model, prompt, temperature: 1, invariant: false, maxNewTokens, seed: config.seed },
          () => {},
        );
        // It begins well: what is refused before the first step is no fault of a step.
        server!.lies = version === 0 && temperature === 1 ? {} : lies;
        await inspection.published(`step-${version}`);
        server!.take();
        try {
          await inspection.look(server!.access(`step-${version}`));
        } catch (error) {
          if (!(error instanceof WrongWeightsError)) throw error;
        }
        version++;
      };
      const sample: Stages['sample'] = async (_, requests, options, seed) => {
        await look(requests[0]!.ids);
        return await server!.sample(requests, options, seed, `step-${version - 1}`);
      };
      return {
        stages: { ...stages, sample },
        servers: {
          get records() {
            return inspection?.records ?? [];
          },
        },
      };
    },
    close: () => server?.dispose(),
  };
}

export const serverFaults: readonly PlantedFault[] = [
  {
    code: 'B55',
    variants: [
      {
        name: 'a server that acknowledges weights and keeps the old ones',
        run: () => served({ keepsWeights: true }),
      },
      {
        name: 'the same in bfloat16',
        run: () => served({ keepsWeights: true }, { policy: { dtype: 'bfloat16' } }),
      },
    ],
  },
  {
    code: 'B65',
    variants: [
      { name: 'a prefix cache that new weights do not clear', run: () => served({ keepsCache: true }) },
    ],
  },
  {
    code: 'B66',
    variants: [
      { name: 'every other prompt by the weights before', run: () => served({ mixesWeights: true }) },
    ],
  },
  {
    code: 'B67',
    variants: [
      {
        name: 'log-probs from before a temperature of 0.7',
        run: () => served({ isRaw: true }, { settings: ['rollout.temperature=0.7'] }),
      },
    ],
  },
];
