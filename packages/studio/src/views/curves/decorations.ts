/** Frame, bands, records and marks of a chart, in canvas pixels. */
import uPlot from 'uplot';
import type { Aligned } from './align.js';
import type { ChartPlan } from './layout.js';
import type { Colours } from './line-style.js';
import type { Mark } from './marks.js';
import type { Records } from './records.js';

/** Draws inside of the plot's frame only. */
function inside(plot: uPlot, draw: (ctx: CanvasRenderingContext2D, scale: number) => void): void {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  draw(ctx, uPlot.pxRatio);
  ctx.restore();
}

export function drawUnder(plot: uPlot, { line }: Colours): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = line;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.strokeRect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.restore();
}

/** The range in which the values are healthy: a light ground with dashed edges. */
export function drawBands(plot: uPlot, { bands }: ChartPlan, { good }: Colours): void {
  const { left, top, width, height } = plot.bbox;
  const { min, max, distr } = plot.scales.y!;
  if (min == null || max == null) return;
  const isOnScale = (edge: number) => edge >= min && edge <= max && (distr !== 3 || edge > 0);
  const yOf = (edge: number) => plot.valToPos(edge, 'y', true);
  inside(plot, (ctx, scale) => {
    for (const { low, high } of bands) {
      const from = high === undefined || high > max ? top : high < min ? top + height : yOf(high);
      const to = low === undefined || low < min ? top + height : low > max ? top : yOf(low);
      ctx.fillStyle = good;
      ctx.globalAlpha = 0.09;
      ctx.fillRect(left, from, width, Math.max(0, to - from));
      ctx.globalAlpha = 0.8;
      ctx.strokeStyle = good;
      ctx.lineWidth = scale;
      ctx.setLineDash([4 * scale, 4 * scale]);
      for (const edge of [low, high]) {
        if (edge === undefined || !isOnScale(edge)) continue;
        ctx.beginPath();
        // On whole pixels, so that it is not blurred over two.
        const y = Math.round(yOf(edge)) + scale / 2;
        ctx.moveTo(left, y);
        ctx.lineTo(left + width, y);
        ctx.stroke();
      }
    }
  });
}

/** Ticks at the foot, for steps that can be opened: of those with texts only short and pale. */
export function drawRecords(plot: uPlot, { whole, all }: Records, { link, soft }: Colours): void {
  const { top, height } = plot.bbox;
  inside(plot, (ctx, scale) => {
    const ticks = (steps: Float64Array, colour: string, length: number) => {
      ctx.fillStyle = colour;
      let last = Number.NEGATIVE_INFINITY;
      for (const step of steps) {
        const x = Math.round(plot.valToPos(step, 'x', true) - scale / 2);
        if (x === last) continue;
        last = x;
        ctx.fillRect(x, top + height - length * scale, scale, length * scale);
      }
    };
    ticks(all, soft, 2);
    ticks(whole, link, 6);
  });
}

/** Lines where findings begin, and crosses where a value is not finite. */
export function drawMarks(
  plot: uPlot,
  { marks, aligned }: { marks: readonly Mark[]; aligned: Aligned },
  colours: Colours,
): void {
  const { top, height } = plot.bbox;
  const colourOf = { fail: colours.fail, warn: colours.warn, inform: colours.soft };
  inside(plot, (ctx, scale) => {
    ctx.lineWidth = 1.5 * scale;
    for (const { step, severity } of marks) {
      const x = plot.valToPos(step, 'x', true);
      ctx.strokeStyle = colourOf[severity];
      ctx.setLineDash([3 * scale, 3 * scale]);
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + height);
      ctx.stroke();
    }
    ctx.setLineDash([]);
    ctx.strokeStyle = colours.fail;
    const size = 3.5 * scale;
    const y = top + height - 14 * scale;
    for (const step of aligned.broken) {
      const x = plot.valToPos(step, 'x', true);
      ctx.beginPath();
      ctx.moveTo(x - size, y - size);
      ctx.lineTo(x + size, y + size);
      ctx.moveTo(x - size, y + size);
      ctx.lineTo(x + size, y - size);
      ctx.stroke();
    }
  });
}
