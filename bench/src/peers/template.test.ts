import { expect, it } from 'vitest'
import { fillTemplate, linesUnder } from './template.ts'

it('repeats for each value, chooses by presence and keeps the rest', () => {
  const text = [
    'listen {{port}}',
    '# {{each origin}}',
    '  server {{index}} {{origin}}:{{port}}',
    '# {{end}}',
    '{{if log}}',
    'log {{log}}',
    '{{else}}',
    'log off',
    '{{end}}',
    'end',
  ].join('\n')
  const origin = ['one', 'two']
  const filled = (log?: string) => fillTemplate(text, { port: '80', origin, log }).split('\n')
  const servers = ['listen 80', '  server 0 one:80', '  server 1 two:80']
  expect(filled('file')).toEqual([...servers, 'log file', 'end'])
  expect(filled()).toEqual([...servers, 'log off', 'end'])
})

it('tells the lines that hang on a value, whatever they are nested in', () => {
  const text = [
    'always',
    '# {{each origin}}',
    '  # {{if tuned}}',
    '  # why',
    '  kept 2048',
    '  # {{else}}',
    '  kept 128',
    '  # {{end}}',
    '# {{end}}',
    '{{if log}}',
    'log',
    '{{end}}',
  ].join('\n')
  expect(linesUnder(text, 'tuned')).toEqual(['kept 2048'])
})

it.each([
  ['a value that nobody gave', 'x {{nothing}}', 'line 1: no value for nothing'],
  ['an end too many', '{{end}}', 'line 1: end without a beginning'],
  ['a block without end', '{{if log}}\nx', 'line 1: the block has no end'],
  ['a list that is none', '{{each port}}\n{{end}}', 'port is no list'],
])('refuses %s', (_name, text, message) => {
  expect(() => fillTemplate(text, { port: '80' })).toThrow(message)
})
