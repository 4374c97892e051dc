import { expect, it } from 'vitest'
import { ADMIN_API } from '../../src/contract/admin-api.ts'
import { textOf } from './source-files.ts'

const PAGE = 'docs/api/admin.md'
const HEADING = '## All routes\n'

const table = [
  '| Route | Scope | What it does |',
  '| --- | --- | --- |',
  ...Object.entries(ADMIN_API).map(([name, { scope, summary }]) => {
    const shown = scope === 'any' ? 'any' : `\`${scope}\``
    return `| \`${name.replace(' ', ' /admin/v1')}\` | ${shown} | ${summary} |`
  }),
].join('\n')

// To renew the page after a change of a route: npx vitest run --project conventions test/conventions/admin-api-documented.test.ts -u
it('the page of the management API has every route with its scope', async () => {
  const prose = textOf(PAGE).split(HEADING)[0] ?? ''
  await expect(`${prose}${HEADING}\n${table}\n`).toMatchFileSnapshot(`../../${PAGE}`)
})
