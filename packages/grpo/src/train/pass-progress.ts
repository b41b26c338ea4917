/** Is told how much of a micro-batch's forward and backward pass is done, 0 to 1. */
export type PassProgress = (share: number) => void;

/**
 * Listeners of a forward pass and the backward pass after it. Both come by each layer once; where the backward pass
 * computes a layer again, the layer itself is heard in place of its mark.
 */
export function trainingPasses(layers: number, tell: PassProgress) {
  let heard = 0;
  const onMark = () => {
    const back = Math.max(0, heard - layers);
    // A layer's backward pass takes about twice the time of its forward pass.
    tell(Math.min(1, (heard + back) / (3 * layers)));
    heard++;
  };
  return { onLayer: onMark, onMark };
}
