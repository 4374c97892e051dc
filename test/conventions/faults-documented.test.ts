import { expect, it } from 'vitest'
import { AREAS, FAULTS } from '../../src/app/doctor/faults.ts'
import { textOf } from './source-files.ts'

const PAGE = 'docs/operate/doctor.md'
const HEADING = '## All faults\n'

const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/(\$\{[^}]+\}(?:-[^}]*\})?)/g, '`$1`')

function reference(): string {
  const sections = AREAS.map((area) => {
    const rows = Object.entries(FAULTS)
      .filter(([, fault]) => fault.area === area)
      .map(
        ([id, { severity, what, why, cure }]) =>
          `| \`${id}\` | ${severity} | ${cell(what)} ${cell(why)} | ${cell(cure)} |`,
      )
    return [`### ${area}`, '', '| Fault | | What it is | Cure |', '| --- | --- | --- | --- |', ...rows].join('\n')
  })
  return `${HEADING}\n${sections.join('\n\n')}\n`
}

// To renew the page after a change of the table: npx vitest run --project conventions test/conventions/faults-documented.test.ts -u
it('the page of the doctor has every fault, as the table describes it', async () => {
  const prose = textOf(PAGE).split(HEADING)[0] ?? ''
  await expect(`${prose}${reference()}`).toMatchFileSnapshot(`../../${PAGE}`)
})

it('every fault that another page names is in the table', () => {
  const named = [...textOf('docs/troubleshooting.md').matchAll(/\(operate\/doctor\.md#([a-z-]+)\)/g)].map(
    ([, id]) => id,
  )
  expect(named.filter((id) => id !== undefined && !(id in FAULTS) && id !== 'all-faults')).toEqual([])
})
