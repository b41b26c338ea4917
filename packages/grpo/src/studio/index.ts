/** The data layer of the page: runs, steps, completions and tokens as things to show, without a tensor engine. */
export * from './requests.js';
export { Studio } from './studio.js';
