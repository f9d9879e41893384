/** What the page can do beyond being read: the value of every line where the pointer is. It asks for nothing. */

export const SCRIPT = `
for (const chart of document.querySelectorAll('figure.chart')) {
  const block = document.getElementById('data-' + chart.id)
  const svg = chart.querySelector('svg[data-chart]')
  const capture = chart.querySelector('.capture')
  if (!block || !svg || !capture) continue
  const data = JSON.parse(block.textContent)
  const hover = chart.querySelector('.hover')
  const cross = chart.querySelector('.cross')
  const tip = chart.querySelector('.tip')
  const top = Number(capture.getAttribute('y'))
  const bottom = top + Number(capture.getAttribute('height'))
  const show = (event) => {
    const box = svg.getBoundingClientRect()
    const at = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width
    tip.textContent = ''
    let where
    for (const { name, index, points } of data.series) {
      let best
      for (const point of points) {
        if (!best || Math.abs(point[0] - at) < Math.abs(best[0] - at)) best = point
      }
      if (!best || Math.abs(best[0] - at) > 30) continue
      where ??= best
      const line = document.createElement('div')
      const mark = document.createElement('span')
      mark.className = 'mark s' + index
      line.append(mark, name + ': ' + Number(best[2].toPrecision(4)).toLocaleString('en-US'))
      tip.append(line)
    }
    if (!where) return leave()
    tip.prepend(data.xLabel + ': ' + Number(where[1].toPrecision(4)).toLocaleString('en-US'))
    cross.setAttribute('d', 'M' + where[0] + ' ' + top + 'V' + bottom)
    hover.removeAttribute('hidden')
    tip.hidden = false
  }
  const leave = () => {
    hover.setAttribute('hidden', '')
    tip.hidden = true
  }
  capture.addEventListener('pointermove', show)
  capture.addEventListener('pointerdown', show)
  capture.addEventListener('pointerleave', leave)
}
`
