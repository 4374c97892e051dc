import type { ExportedAccount } from '../admin/apply.ts'
import { csvRow, plainCell } from '../lib/text.ts'
import { CAP_KINDS, CAP_NAMES } from '../model/allowance.ts'
import { readRunRuleText, runRuleText } from '../model/run.ts'
import { readStepDownText, stepDownText } from '../model/step-down.ts'

/** The CSV format of `accounts import` and `accounts export`. */

/** One row for each key. Empty cells of an import leave alone what they would set; `none` removes it. */
const ACCOUNT_COLUMNS: readonly string[] = [
  ...['email', 'status', 'plan', 'plan_until', 'key', 'key_id', 'kind', 'person', 'team', 'models'],
  ...CAP_NAMES.map((name) => `cap_${name}`),
  ...[
    'requests_per_minute',
    'tokens_per_minute',
    'concurrent',
    'addresses',
    'expires',
    'disabled',
    'role',
    'raises',
    'run',
    'step_down',
  ],
]

export const accountsCsvHead = (): string => csvRow(ACCOUNT_COLUMNS)

/** The rows of an exported account: its keys, then its teams, its people, and the caps of new keys. */
export function writeAccountCsv({ email, status, plan, plan_until, keys, ...others }: ExportedAccount): string {
  const account = [email, status, plan ?? '', plan_until ?? (plan === undefined ? '' : 'none')]
  const { people, teams, new_key_caps: newKeys } = others
  const capped = (cells: readonly string[], { caps, raises }: Capped, disabled = '', role = '') =>
    csvRow([
      ...[...account, ...cells],
      ...CAP_NAMES.map((cap) => caps[cap] ?? 'none'),
      ...['', '', '', '', '', disabled, role, raisesText(raises), '', ''],
    ])
  const rows = [
    ...teams.map((team) => capped(['', '', '', '', team.name, ''], team, String(team.archived))),
    ...people.map((person) => capped(['', '', '', person.email, '', ''], person, String(person.disabled), person.role)),
    ...(CAP_NAMES.some((cap) => newKeys[cap] != null) ? [capped(NO_KEY, { caps: newKeys })] : []),
  ]
  if (keys.length + rows.length === 0)
    return csvRow([...account, ...ACCOUNT_COLUMNS.slice(account.length).map(() => '')])
  const ofKeys = keys
    .map(
      ({ id, name, kind, person, team, models, limits, caps, addresses, run, step_down, expires, disabled, raises }) =>
        csvRow([
          ...[...account, name, id, kind, person ?? '', team ?? '', models?.join(' ') ?? 'all'],
          ...CAP_NAMES.map((cap) => caps[cap] ?? 'none'),
          ...[limits.requests_per_minute ?? 'none', limits.tokens_per_minute ?? 'none', limits.concurrent ?? 'none'],
          ...[addresses?.join(' ') ?? 'none', expires ?? 'none', String(disabled), '', raisesText(raises)],
          run === null ? 'none' : runRuleText(run),
          step_down === null ? 'none' : stepDownText(step_down),
        ]),
    )
    .join('')
  return ofKeys + rows.join('')
}

const NO_KEY = ['', '', '', '', '', '']

interface Capped {
  readonly caps: Readonly<Record<string, string | number | null>>
  readonly raises?: readonly { readonly cap: string; readonly to: string; readonly until: string }[]
}

/** `day 9.00 2027-01-31T00:00:00.000Z; month …` */
const raisesText = (raises: Capped['raises'] = []): string =>
  raises.map(({ cap, to, until }) => `${cap} ${to} ${until}`).join('; ')

const raisesOf = (text: string | undefined) =>
  text
    ? {
        raises: text.split(';').map((each) => {
          const [cap = '', to = '', until = ''] = each.trim().split(/\s+/)
          return { cap, to, until }
        }),
      }
    : {}

interface ReadAccount {
  readonly entry: Record<string, unknown>
  readonly line: number
  readonly lists: Record<'keys' | 'teams' | 'people', { readonly line: number; readonly value: object }[]>
}

/** A row without a key has the caps of the team or the person that it names, or those of new keys. */
function placed(cells: Cells): keyof ReadAccount['lists'] | 'new-keys' | undefined {
  if (cells.key) return 'keys'
  if (cells.team) return 'teams'
  if (cells.person) return 'people'
  return Object.keys(capsOf(cells)).length > 0 ? 'new-keys' : undefined
}

const termsOf = (cells: Cells) => ({ caps: capsOf(cells), ...raisesOf(cells.raises) })
const truth = (text: string) => (text === 'true' ? true : text === 'false' ? false : text)

const ENTRIES = {
  keys: (cells: Cells) => keyOf(cells),
  teams: (cells: Cells) => ({
    ...{ name: cells.team, ...termsOf(cells) },
    ...(cells.disabled && { archived: truth(cells.disabled) }),
  }),
  people: (cells: Cells) => ({
    ...{ email: cells.person, ...termsOf(cells) },
    ...(cells.role && { role: cells.role }),
    ...(cells.disabled && { disabled: truth(cells.disabled) }),
  }),
} satisfies Record<keyof ReadAccount['lists'], (cells: Cells) => object>

const capsOf = (cells: Cells): Record<string, string | number | null> =>
  Object.assign(
    {},
    ...CAP_NAMES.map((name) => (CAP_KINDS[name].measure === 'usd' ? given : numbered)(name, cells[`cap_${name}`])),
  )

type Cells = Readonly<Record<string, string>>

interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/** A row for each key, or one for an account without keys; rows with the same email are one account. An empty cell leaves alone. */
export function parseAccountsCsv(text: string, path: string) {
  const { rows, problem } = readRows(text)
  const [head, ...body] = rows
  const columns = head?.cells.map((name) => name.trim()) ?? []
  const problems = problem === undefined ? [] : [`${path}:${problem}  a quoted cell does not end`]
  const unknown = columns.filter((name) => !ACCOUNT_COLUMNS.includes(name))
  if (!columns.includes('email')) problems.push(`${path}:1  there is no column email`)
  if (unknown.length > 0) {
    problems.push(`${path}:1  unknown columns: ${unknown.join(', ')}. Columns: ${ACCOUNT_COLUMNS.join(', ')}`)
  }
  const accounts = new Map<string, ReadAccount>()
  for (const { line, cells } of body) {
    const named: Cells = Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? '']))
    const email = named.email ?? ''
    const known = accounts.get(email) ?? { entry: {}, line, lists: { keys: [], teams: [], people: [] } }
    accounts.set(email, known)
    for (const [name, said] of Object.entries(accountOf(named))) {
      if (name in known.entry && known.entry[name] !== said) {
        problems.push(`${path}:${line}  ${name}: another row of ${email} has another value`)
      }
      known.entry[name] = said
    }
    const place = placed(named)
    if (place === 'new-keys') known.entry.new_key_caps = capsOf(named)
    else if (place !== undefined) known.lists[place].push({ line, value: ENTRIES[place](named) })
    if (!named.key && named.key_id) problems.push(`${path}:${line}  key_id: needs a name in the column key`)
  }
  const listed = [...accounts.values()]
  return {
    value: {
      accounts: listed.map(({ entry, lists }) => ({
        ...entry,
        ...Object.fromEntries(
          Object.entries(lists)
            .filter(([, list]) => list.length > 0)
            .map(([name, list]) => [name, list.map(({ value }) => value)]),
        ),
      })),
    },
    placeOf([, index, list, entry]: readonly (string | number)[]) {
      const account = listed[Number(index)]
      const place = account?.lists[list as keyof ReadAccount['lists']]?.[Number(entry ?? 0)]
      return `${path}:${place?.line ?? account?.line ?? 1}`
    },
    problems,
  }
}

const given = (name: string, text: string | undefined): Record<string, string | null> =>
  text === undefined || text === '' ? {} : { [name]: text === 'none' ? null : text }

const accountOf = ({ email, status, plan, plan_until }: Cells) => ({
  ...{ email, ...given('status', status) },
  ...{ ...given('plan', plan), ...given('plan_until', plan_until) },
})

/** A text that is no number stays, and the schema reports it. */
const numbered = (name: string, text: string | undefined) =>
  Object.fromEntries(
    Object.entries(given(name, text)).map(([key, value]) => [
      key,
      value !== null && /^\d{1,15}$/.test(value) ? Number(value) : value,
    ]),
  )

function keyOf(cells: Cells) {
  const { models, disabled, expires, addresses, run, step_down } = cells
  const limits = {
    ...numbered('requests_per_minute', cells.requests_per_minute),
    ...numbered('tokens_per_minute', cells.tokens_per_minute),
    ...numbered('concurrent', cells.concurrent),
  }
  const caps = capsOf(cells)
  return {
    ...{ name: cells.key, kind: cells.kind },
    ...given('id', cells.key_id),
    ...(cells.person && { person: cells.person }),
    ...(cells.team && { team: cells.team }),
    ...(models && { models: models === 'all' ? null : models.split(' ') }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(Object.keys(caps).length > 0 && { caps }),
    ...(addresses && { addresses: addresses === 'none' ? null : addresses.split(' ') }),
    ...(run && { run: run === 'none' ? null : readRunRuleText(run) }),
    ...(step_down && { step_down: step_down === 'none' ? null : readStepDownText(step_down) }),
    ...given('expires', expires),
    ...(disabled && { disabled: truth(disabled) }),
    ...raisesOf(cells.raises),
  }
}

/** RFC 4180. `problem` is the line of a quoted cell that does not end. */
function readRows(text: string): { readonly rows: readonly Row[]; readonly problem: number | undefined } {
  const rows: Row[] = []
  let cells: string[] = []
  let line = 1
  let start = 1
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy
  const whole = text.replace(/^\uFEFF/, '')
  while (cell.lastIndex < whole.length) {
    const [found, quoted, plain = '', end] = cell.exec(whole) ?? []
    if (found === undefined) return { rows, problem: line }
    cells.push(plainCell(quoted === undefined ? plain : quoted.replaceAll('""', '"')))
    line += found.split('\n').length - 1
    if (end === ',') continue
    if (cells.some((each) => each !== '')) rows.push({ line: start, cells })
    cells = []
    start = line
  }
  if (cells.some((each) => each !== '')) rows.push({ line: start, cells })
  return { rows, problem: undefined }
}
