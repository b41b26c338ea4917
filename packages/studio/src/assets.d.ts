declare module '*?worker&inline' {
  const create: new () => Worker;
  export default create;
}
declare module '*.css';
