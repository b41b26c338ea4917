// What a step of several processes sends over the network, and when the network is what it waits for. Prints the tables of
// docs/scale.md: node bench/network.mjs

/** Shapes of published models. */
const MODELS = {
  'Qwen2.5 0.5B': {
    layers: 24,
    hidden: 896,
    inner: 4864,
    heads: 14,
    keyHeads: 2,
    vocabulary: 151936,
    tied: true,
  },
  'Qwen2.5 3B': {
    layers: 36,
    hidden: 2048,
    inner: 11008,
    heads: 16,
    keyHeads: 2,
    vocabulary: 151936,
    tied: true,
  },
  'Llama 3.1 8B': {
    layers: 32,
    hidden: 4096,
    inner: 14336,
    heads: 32,
    keyHeads: 8,
    vocabulary: 128256,
    tied: false,
  },
};
const RANKS = [2, 8, 64];
const GIGABITS = [1, 10, 100, 400];
/** Multiplications and additions per second that a process keeps up over a step. */
const MACHINES = { 'a small CPU node': 0.5e12, 'a large CPU node': 4e12, 'one GPU': 200e12 };
const LORA_RANK = 16;
const HALF = 2;
const FLOAT = 4;
/** Of a completion token, measured on a run of two processes: its id, its log-probs, and what each micro-batch tells of it. */
const BYTES_PER_TOKEN = 150;

/** The [outputs, inputs] of the seven projections of a layer. */
function projections({ hidden, inner, heads, keyHeads }) {
  const keys = (hidden / heads) * keyHeads;
  return [
    [hidden, hidden],
    [keys, hidden],
    [keys, hidden],
    [hidden, hidden],
    [inner, hidden],
    [inner, hidden],
    [hidden, inner],
  ];
}

/** All weights; norms and biases, a ten-thousandth of them, are left out. */
function weights(model) {
  const layer = projections(model).reduce((sum, [out, input]) => sum + out * input, 0);
  return model.layers * layer + (model.tied ? 1 : 2) * model.vocabulary * model.hidden;
}

const adapters = (model) =>
  model.layers * projections(model).reduce((sum, [out, input]) => sum + LORA_RANK * (out + input), 0);

/** Bytes that each process sends, and receives, while n add up their gradients in a ring. */
const ring = (numbers, n) => ((2 * (n - 1)) / n) * FLOAT * numbers;

const seconds = (bytes, gigabits) => (8 * bytes) / (gigabits * 1e9);

/**
 * Tokens of an update, over all processes, at which adding up the gradients takes as long as computing them. A token takes
 * `flops` per weight, split over n processes; so n and the weights nearly cancel.
 */
function breakEven(model, n, gigabits, machine, part) {
  const flops = part === 'whole' ? 8 : 6;
  const numbers = part === 'whole' ? weights(model) : adapters(model);
  return (seconds(ring(numbers, n), gigabits) * n * machine) / (flops * weights(model));
}

const three = (value) => Number(value.toPrecision(value < 10 ? 2 : 3));

function bytes(value) {
  const [size, unit] = value >= 1e9 ? [1e9, 'GB'] : value >= 1e6 ? [1e6, 'MB'] : [1e3, 'kB'];
  return `${three(value / size)} ${unit}`;
}

const time = (value) => (value >= 1 ? `${three(value)} s` : `${three(1000 * value)} ms`);
const count = (value) =>
  value >= 1e6
    ? `${three(value / 1e6)} M`
    : value >= 1e3
      ? `${three(value / 1e3)} k`
      : String(Math.ceil(value));

function table(head, rows) {
  const all = [head, ...rows];
  const widths = head.map((_, k) => Math.max(...all.map((row) => row[k].length)));
  const line = (row) => `| ${row.map((cell, k) => cell.padEnd(widths[k])).join(' | ')} |`;
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join(
    '\n',
  );
}

const names = Object.keys(MODELS);

console.log(
  table(
    [
      'model',
      'weights',
      'pushed whole (bfloat16)',
      `adapters of rank ${LORA_RANK}`,
      'pushed as LoRA (float32)',
    ],
    names.map((name) => {
      const model = MODELS[name];
      return [
        name,
        `${three(weights(model) / 1e9)} billion`,
        bytes(HALF * weights(model)),
        `${three(adapters(model) / 1e6)} million`,
        bytes(FLOAT * adapters(model)),
      ];
    }),
  ),
);

console.log();
console.log(
  table(
    [
      'model',
      'processes',
      'sent per update',
      ...GIGABITS.map((rate) => `${rate} Gbit/s`),
      'with LoRA',
      '1 Gbit/s',
    ],
    names.flatMap((name) =>
      RANKS.map((n) => {
        const whole = ring(weights(MODELS[name]), n);
        const lora = ring(adapters(MODELS[name]), n);
        return [
          ...[name, String(n), bytes(whole), ...GIGABITS.map((rate) => time(seconds(whole, rate)))],
          ...[bytes(lora), time(seconds(lora, 1))],
        ];
      }),
    ),
  ),
);

console.log();
console.log(
  table(
    ['processes', 'each is', ...GIGABITS.map((rate) => `${rate} Gbit/s`), 'LoRA, 8B, 1 Gbit/s'],
    RANKS.flatMap((n) =>
      Object.entries(MACHINES).map(([machine, rate]) => [
        String(n),
        machine,
        ...GIGABITS.map((gigabits) => count(breakEven(MODELS[names[0]], n, gigabits, rate, 'whole'))),
        count(breakEven(MODELS[names[2]], n, 1, rate, 'lora')),
      ]),
    ),
  ),
);

console.log();
console.log(
  table(
    [
      'completions of a step',
      'tokens',
      'received by each of 64',
      ...GIGABITS.map((rate) => `${rate} Gbit/s`),
    ],
    [
      [64, 256],
      [1024, 1024],
      [4096, 8192],
    ].map(([completions, length]) => {
      const received = (BYTES_PER_TOKEN * completions * length * 63) / 64;
      return [
        `${completions} of ${length}`,
        count(completions * length),
        bytes(received),
        ...GIGABITS.map((rate) => time(seconds(received, rate))),
      ];
    }),
  ),
);
