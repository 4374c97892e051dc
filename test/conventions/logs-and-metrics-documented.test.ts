import { expect, it } from 'vitest'
import { requestLine } from '../../src/telemetry/log.ts'
import { METRIC } from '../../src/telemetry/metrics.ts'
import { textOf } from './source-files.ts'

const PAGE = 'docs/operate/logs-and-metrics.md'

/** The names in the first cells of the table whose first column has this heading. */
function namesUnder(page: string, heading: string): string[] {
  const [, rows = ''] = page.split(new RegExp(`^\\| ${heading} \\|.*\\n`, 'm'))
  const [table = ''] = rows.split('\n\n')
  return [...table.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, cell]) =>
    [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''),
  )
}

it('the page of logs has every field of a request line', () => {
  const fields = ['level', 'time', ...Object.keys(requestLine({}))]
  expect(namesUnder(textOf(PAGE), 'Field').sort()).toEqual(fields.sort())
})

it('the page of metrics has every series of ours', () => {
  const ofNode = (name: string) => /^(nodejs|process)_/.test(name)
  const named = namesUnder(textOf(PAGE), 'Series').filter((name) => !ofNode(name))
  expect(named.sort()).toEqual(Object.values(METRIC).sort())
})

it('a name too many would be noticed', () => {
  const page =
    '| Field | Says |\n| --- | --- |\n| `a`, `b` | `c` |\n\n| Series | Counts |\n| --- | --- |\n| `d` | e |\n'
  expect([namesUnder(page, 'Field'), namesUnder(page, 'Series')]).toEqual([['a', 'b'], ['d']])
})
