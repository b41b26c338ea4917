import type { FindingLink } from 'grpo/studio';
import { linkToPlace } from '../route.js';
import { SafeText } from './safe-text.js';

interface PlaceLinkProps {
  run: string;
  /** The finding that cites the place, to which the place links back. */
  code: string;
  place: FindingLink['places'][number];
}

/** A place that a finding cites, as a link as far down as it goes: a token, a completion, a step, a curve. */
export function PlaceLink({ run, code, place }: PlaceLinkProps) {
  const { text, step, completion, token, metric } = place;
  const link =
    metric !== undefined
      ? linkToPlace({ run }, { filter: metric })
      : step === undefined
        ? undefined
        : linkToPlace({ run, step, completion }, { token, finding: code });
  const words = <SafeText text={text} most={200} />;
  return link === undefined ? words : <a href={link}>{words}</a>;
}
