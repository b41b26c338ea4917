/** Made-up rows in the layouts of HaluEval. */
const TOWNS = ['Alder', 'Birch', 'Cedar', 'Dogwood', 'Elm', 'Fir', 'Ginkgo', 'Hazel'];

const knowledgeOf = (i: number) =>
  `${TOWNS[i]} is a town on the river Sill. Its bridge was built in ${1801 + i} by the mason Osk ${TOWNS[(i + 3) % 8]}.`;

/** Two questions a text. */
export const qaRows = () =>
  TOWNS.flatMap((town, i) => [
    {
      knowledge: knowledgeOf(i),
      question: `When was the bridge of ${town} built?`,
      right_answer: String(1801 + i),
      hallucinated_answer: `The bridge of ${town} was built in ${1701 + i}.`,
    },
    {
      knowledge: knowledgeOf(i),
      question: `Who built the bridge of ${town}?`,
      right_answer: `Osk ${TOWNS[(i + 3) % 8]}`,
      hallucinated_answer: `It was built by Una ${TOWNS[(i + 5) % 8]}.`,
    },
  ]);

export const dialogueRows = () =>
  TOWNS.map((town, i) => ({
    knowledge: `${knowledgeOf(i)} The town has a market.`,
    dialogue_history: `[Human]: Do you know ${town}? [Assistant]: Yes. [Human]: What river is it on?`,
    right_response: `${town} is on the river Sill, where its bridge was built in ${1801 + i}.`,
    hallucinated_response: `${town} lies by the sea and never had any bridge at all.`,
  }));

export const summaryRows = () =>
  TOWNS.map((town, i) => ({
    document: `${knowledgeOf(i)} In spring the river floods the meadows, and the market moves to the hill. Nobody minds.`,
    right_summary: `${town}'s bridge over the Sill dates from ${1801 + i}. Each spring floods move the market to the hill.`,
    hallucinated_summary: `The town lost its bridge last year, and its citizens have protested against the closing of the market.`,
  }));

export const generalRows = () =>
  TOWNS.map((town, i) => ({
    ID: String(i),
    user_query: `Tell me of the tree that ${town} is named after.`,
    chatgpt_response: `It grows to thirty metres. ${i % 2 === 0 ? 'Its leaves are made of blue glass.' : 'It likes wet soil.'}`,
    hallucination: i % 2 === 0 ? 'yes' : 'no',
    hallucination_spans: i % 2 === 0 ? ['Its leaves are made of blue glass.'] : [],
  }));

export const haluevalRows = (): object[] => [
  ...qaRows(),
  ...dialogueRows(),
  ...summaryRows(),
  ...generalRows(),
];
