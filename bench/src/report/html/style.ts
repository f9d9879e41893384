/** The page's only style sheet. Colours that also those tell apart who see few, with dashes besides. */

const LIGHT = [
  '#0067a5',
  '#c24a00',
  '#00795a',
  '#9c3587',
  '#8a6500',
  '#3f3fc7',
  '#b3003c',
  '#4d6a00',
  '#00717f',
  '#6b4a2b',
]
const DARK = [
  '#5db7f5',
  '#ff9a57',
  '#3fd3a6',
  '#f08bd8',
  '#e5bb45',
  '#a9a6ff',
  '#ff7a9c',
  '#b3d457',
  '#4fd0de',
  '#d6a97f',
]
const DASHES = [
  'none',
  '9 4',
  '3 3',
  '12 3 3 3',
  '6 2 2 2',
  '2 5',
  '14 5',
  '5 5 1 5',
  '1 3',
  '10 2 5 2',
]

const colours = (list: readonly string[]) =>
  list.map((colour, index) => `--c${index}:${colour}`).join(';')

const series = DASHES.map(
  (dash, index) => `.s${index}{--s:var(--c${index})}.s${index} .line{stroke-dasharray:${dash}}`,
).join('')

export const STYLE = `
:root{color-scheme:light dark;--paper:#fff;--ink:#17202a;--soft:#5a6572;--rule:#dfe4ea;--panel:#f6f8fa;--warn:#8a4b00;--warnpaper:#fff4e0;--bad:#a40e26;--good:#0a6b3d;${colours(LIGHT)}}
@media (prefers-color-scheme:dark){:root{--paper:#11161c;--ink:#e8edf2;--soft:#9aa7b4;--rule:#2b343d;--panel:#182029;--warn:#ffc069;--warnpaper:#33240d;--bad:#ff8a99;--good:#6fd39c;${colours(DARK)}}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:break-word}
main{max-width:1240px;margin:0 auto;padding:28px 20px 64px}
.eyebrow{color:var(--soft);font-size:13px;letter-spacing:.06em;text-transform:uppercase;margin:0}
h1{font-size:clamp(22px,4vw,32px);line-height:1.2;margin:4px 0 8px;text-wrap:balance}
h2{font-size:20px;margin:40px 0 12px;padding-top:12px;border-top:1px solid var(--rule)}
h3{font-size:16px;margin:24px 0 8px}
.verdict{font-size:18px;margin:0 0 16px;max-width:70ch}
.banner{background:var(--warnpaper);border-left:4px solid var(--warn);padding:8px 12px;margin:8px 0;border-radius:0 6px 6px 0}
.banner.bad{border-color:var(--bad)}
.method{color:var(--soft);max-width:95ch}
.method li{margin:2px 0}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px;min-width:min(100%,420px)}
th,td{text-align:right;padding:6px 10px;border-bottom:1px solid var(--rule);vertical-align:top}
th:first-child,td:first-child{text-align:left;padding-left:0}
thead th{color:var(--soft);font-weight:600;vertical-align:bottom}
tbody th{font-weight:500}
td small,th small{display:block;color:var(--soft);font-size:12px;font-weight:400;white-space:nowrap}
tr.self th,tr.self td{font-weight:700;background:var(--panel)}
.mark{display:inline-block;width:12px;height:12px;border-radius:3px;background:var(--s);margin-right:8px;vertical-align:-1px}
.grid{stroke:var(--rule);stroke-width:1;fill:none}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,520px),1fr));gap:20px;align-items:start}
.chart{margin:0;padding:14px 14px 8px;background:var(--panel);border:1px solid var(--rule);border-radius:10px;position:relative;min-width:0}
.chart figcaption strong{display:block}
.chart figcaption span{display:block;color:var(--soft);font-size:13px;line-height:1.4;margin-bottom:6px}
.chart>svg{display:block;width:100%;height:auto;overflow:hidden}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 14px;padding:0;margin:0 0 6px;font-size:13px}
.swatch{width:28px;height:10px;margin-right:6px;vertical-align:1px}
svg text{fill:var(--ink);font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
svg .tick,svg .axis{fill:var(--soft)}
svg .name{font-weight:600}
svg .value{fill:var(--ink);font-variant-numeric:tabular-nums}
.line{fill:none;stroke:var(--s);stroke-width:2.4;stroke-linejoin:round;stroke-linecap:round}
.base{stroke:var(--soft);fill:none}
.ideal{stroke:var(--soft);fill:none;stroke-dasharray:6 5;opacity:.8}
.bar{fill:var(--s);opacity:.72}
.bar.floor{opacity:.34}
.open{fill:none;stroke:var(--s);stroke-width:2}
.dot{fill:var(--s);stroke:var(--panel);stroke-width:1.5}
.dot.hollow{fill:var(--panel);stroke:var(--s);stroke-width:2.4}
.range{stroke:var(--s);stroke-width:4;stroke-linecap:round;opacity:.55;fill:none}
.band{fill:var(--soft);opacity:.2}
.capture{fill:transparent}
.cross{stroke:var(--ink);stroke-width:1;opacity:.6}
.s10{--s:var(--soft)}
.s10 .line{stroke-dasharray:2 3}
.tip{position:absolute;right:14px;top:64px;background:var(--paper);border:1px solid var(--rule);border-radius:8px;padding:6px 10px;font-size:12px;pointer-events:none;box-shadow:0 4px 14px rgb(0 0 0/.14);font-variant-numeric:tabular-nums;max-width:70%}
details{font-size:13px;margin-top:4px}
summary{cursor:pointer;color:var(--soft);padding:4px 0}
pre{background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:10px;overflow-x:auto;font-size:12px;max-width:100%;white-space:pre-wrap;word-break:break-word}
.notes li{margin:4px 0;max-width:100ch}
.notes .fail{color:var(--bad);font-weight:600}
.notes .no-rank{color:var(--warn)}
.strips{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,200px),1fr));gap:10px}
.strip{margin:0;padding:8px;border:1px solid var(--rule);border-radius:8px;font-size:12px;min-width:0}
.strip figcaption span{display:block;color:var(--soft)}
.strip svg{width:100%;height:auto;display:block}
.strip .line{stroke-dasharray:none!important;stroke-width:2}
.tail{fill:none;stroke:var(--ink);stroke-width:1;opacity:.45}
.foreign{fill:none;stroke:var(--bad);stroke-width:1.4}
.noisy{border-color:var(--bad)}
.status{font-size:12px;padding:1px 7px;border-radius:9px;border:1px solid var(--rule);color:var(--soft)}
.status.ok{color:var(--good)}.status.degraded{color:var(--warn)}.status.failed{color:var(--bad)}
footer{margin-top:40px;color:var(--soft);font-size:13px}
a{color:var(--c0)}
${series}
@media (max-width:620px){main{padding:18px 12px 48px}svg text{font-size:22px}.strip svg text{font-size:12px}.chart{padding:10px 10px 6px}.line{stroke-width:3.4}table{font-size:13px}th,td{padding:5px 7px}}
@media print{.charts{display:block}.chart{break-inside:avoid;margin-bottom:12px}}
`
