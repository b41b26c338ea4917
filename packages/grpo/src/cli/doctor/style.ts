/** The look of the page, in light and in dark. */
export const STYLE = `
:root { color-scheme: light dark; --back: #fff; --card: #f6f7f9; --text: #1c2024; --soft: #5b6470; --line: #d5dae1;
  --fail: #c0262d; --warn: #9a5b00; --inform: #1f6feb; --pass: #1a7f37; --curve: #1f6feb }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --card: #1c2127; --text: #e4e8ed; --soft: #9aa5b1;
  --line: #333b45; --fail: #ff6b6b; --warn: #f0b03f; --inform: #6cb0ff; --pass: #56d364; --curve: #6cb0ff } }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 56rem;
  margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.3rem; margin: 0; overflow-wrap: anywhere } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem }
p { margin: .3rem 0 } .soft { color: var(--soft); font-size: .9rem }
article { background: var(--card); border: 1px solid var(--line); border-left: 5px solid var(--mark); border-radius: 6px;
  padding: .8rem 1rem; margin: .6rem 0 }
.fail { --mark: var(--fail) } .warn { --mark: var(--warn) } .inform { --mark: var(--inform) } .pass { --mark: var(--pass) }
.label { color: var(--mark); font-weight: 700; font-size: .8rem; letter-spacing: .04em }
.says { font-weight: 600; overflow-wrap: anywhere } #cause .says { font-size: 1.15rem }
dl { display: grid; grid-template-columns: 6.5rem 1fr; gap: .3rem 1rem; margin: .7rem 0 0; font-size: .92rem }
dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere; min-width: 0 }
code { font: .88em ui-monospace, monospace; overflow-wrap: anywhere }
figure { margin: .8rem 0 0 } figcaption { font-size: .85rem; color: var(--soft) }
svg { width: 100%; height: auto; display: block } svg text { font-size: 11px; fill: var(--soft) }
.line { fill: none; stroke: var(--curve); stroke-width: 1.7 } .dot { fill: var(--curve) }
.level { stroke: var(--line) } .mark { stroke: var(--fail); stroke-dasharray: 3 3; opacity: .8 }
details { margin: .6rem 0 } summary { cursor: pointer; font-weight: 600 } article details summary { font-weight: 400; color: var(--soft); font-size: .9rem }
table { border-collapse: collapse; font-size: .85rem; width: 100% } td, th { text-align: left; padding: .25rem .5rem;
  border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere } td:last-child { color: var(--mark, var(--soft)) }
`;
