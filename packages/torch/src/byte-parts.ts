import { dtypeSize } from './dtype.js';
import { tidy } from './scope.js';
import type { Tensor } from './tensor.js';

/**
 * The bytes that `toBytes` gives, in parts of whole rows: of a large tensor there is never a second copy.
 *
 * @param most - bytes of a part, if a row has not more
 */
export function* byteParts(tensor: Tensor, most = 2 ** 24): Generator<Uint8Array> {
  const [rows] = tensor.shape;
  if (rows === undefined || tensor.numel === 0) return yield tensor.toBytes();
  const rowBytes = (tensor.numel / rows) * dtypeSize(tensor.dtype);
  const atOnce = Math.max(1, Math.floor(most / rowBytes));
  for (let row = 0; row < rows; row += atOnce)
    yield tidy(() =>
      tensor
        .detach()
        .narrow(0, row, Math.min(atOnce, rows - row))
        .toBytes(),
    );
}
