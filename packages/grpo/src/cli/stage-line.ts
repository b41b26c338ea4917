import { byteCount } from '../errors/byte-count.js';
import type { StageProgress } from '../progress/watch.js';
import { formatDuration } from './duration.js';

/** The stage in progress in words, with its speed since it began. */
export class StageLine {
  #last: StageProgress | undefined;
  #begun = { time: 0, share: 0, amount: 0 };

  /** @param clock - in milliseconds */
  constructor(private readonly clock: () => number) {}

  /** Takes in a report: of another stage, or of the same one begun again, it counts from now on. */
  report(now: StageProgress): void {
    const last = this.#last;
    this.#last = now;
    const isSame = last && last.stage === now.stage && last.unit === now.unit && last.total === now.total;
    if (isSame && now.done >= last.done) return;
    this.#begun = { time: this.clock(), share: shareOf(now), amount: amountOf(now) };
  }

  /** The stage is over, and no other has begun. */
  end(): void {
    this.#last = undefined;
  }

  /** Seconds that the stage has taken; undefined between stages. */
  get seconds(): number | undefined {
    return this.#last && (this.clock() - this.#begun.time) / 1000;
  }

  /** Such as `rollout 3/32 completions  412 tokens/s  left 8s`; empty between stages. */
  get text(): string {
    const now = this.#last;
    if (!now) return '';
    const seconds = this.seconds!;
    const count = (value: number) => (now.unit === 'bytes' ? byteCount(value) : String(Math.floor(value)));
    const unit = now.unit === 'bytes' ? '' : ` ${now.unit}`;
    const speed = (amountOf(now) - this.#begun.amount) / seconds;
    const rate = now.unit === 'bytes' ? `${byteCount(Math.round(speed))}/s` : `${speed.toFixed(0)} tokens/s`;
    const gained = shareOf(now) - this.#begun.share;
    const left = (seconds * (1 - shareOf(now))) / gained;
    return [
      `${now.stage} ${count(now.done)}${now.total > 0 ? `/${count(now.total)}` : ''}${unit}`,
      ...(speed > 0 && seconds > 0 ? [rate] : []),
      ...(gained > 0 ? [`left ${formatDuration(left)}`] : []),
      // A wait that does not say how far it is.
      ...(gained <= 0 && seconds >= 1 ? [`for ${formatDuration(seconds)}`] : []),
    ].join('  ');
  }
}

const shareOf = ({ share, done, total }: StageProgress) => share ?? (total > 0 ? done / total : 1);

/** Amount that the speed counts: tokens or bytes. */
function amountOf({ tokens, done, unit }: StageProgress): number {
  return tokens ?? (unit === 'bytes' || unit.endsWith('tokens') ? done : 0);
}
