import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { ACCOUNT_COLUMNS } from '../cli/apply.ts'
import type { AccountsFileOutcome, AccountsFiles, SecretsFileOutcome } from '../cli/cli-services.ts'
import { parseYaml, placeAt, plainOf } from '../config/parse-yaml.ts'
import { type ConfigPath, formatPath, formatPlace, formatProblem } from '../config/problem.ts'
import { accountsFile } from '../contract/accounts-file.ts'
import { whyNotWritten } from '../lib/files.ts'
import { plainCell } from '../lib/text.ts'

/** What was written, before its shape is checked, and where each value of it stands. */
interface WrittenAccounts {
  readonly value: unknown
  placeOf(path: ConfigPath): string
  readonly problems: readonly string[]
}

export const createAccountsFiles = (cwd: string): AccountsFiles => ({
  read: (path) => read(cwd, path),
  openSecrets: (path) => openSecrets(resolve(cwd, path)),
})

function read(cwd: string, path: string): AccountsFileOutcome {
  let text: string
  try {
    text = readFileSync(resolve(cwd, path), 'utf8')
  } catch (error) {
    return { kind: 'invalid', lines: [`${path} cannot be read: ${(error as Error).message}`] }
  }
  const written = parserOf(path)(text, path, cwd)
  if (written.problems.length > 0) return { kind: 'invalid', lines: written.problems }
  const parsed = accountsFile.safeParse(written.value)
  const { placeOf } = written
  if (parsed.success) return { kind: 'read', accounts: parsed.data.accounts, placeOf }
  const lines = parsed.error.issues.map((issue) => {
    const at = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))
    const what = at.length === 0 ? 'the file' : formatPath(at)
    return `${placeOf(at)}  ${what}: ${issue.message}`
  })
  return { kind: 'invalid', lines }
}

function parserOf(path: string): (text: string, path: string, cwd: string) => WrittenAccounts {
  if (/\.csv$/i.test(path)) return parseCsv
  return /\.(jsonl|ndjson)$/i.test(path) ? parseLines : parseTree
}

function parseTree(text: string, path: string, cwd: string): WrittenAccounts {
  const { tree, problems } = parseYaml(text, path)
  return {
    value: plainOf(tree),
    placeOf: (at) => formatPlace(placeAt(tree, at), cwd),
    problems: problems.flatMap((problem) => formatProblem(problem, cwd)),
  }
}

/** One account a line. */
function parseLines(text: string, path: string): WrittenAccounts {
  const accounts: unknown[] = []
  const lineOf: number[] = []
  const problems: string[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    lineOf.push(index + 1)
    try {
      accounts.push(JSON.parse(line))
    } catch {
      problems.push(`${path}:${index + 1}  the line is not JSON`)
    }
  }
  return { value: { accounts }, placeOf: ([, at]) => `${path}:${lineOf[Number(at)] ?? 1}`, problems }
}

type Cells = Readonly<Record<string, string>>

interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/** A row for each key, or one for an account without keys; rows with the same email are one account. An empty cell leaves alone. */
function parseCsv(text: string, path: string): WrittenAccounts {
  const { rows, problem } = readRows(text)
  const [head, ...body] = rows
  const columns = head?.cells.map((name) => name.trim()) ?? []
  const problems = problem === undefined ? [] : [`${path}:${problem}  a quoted cell does not end`]
  const unknown = columns.filter((name) => !(ACCOUNT_COLUMNS as readonly string[]).includes(name))
  if (!columns.includes('email')) problems.push(`${path}:1  there is no column email`)
  if (unknown.length > 0) {
    problems.push(`${path}:1  unknown columns: ${unknown.join(', ')}. Columns: ${ACCOUNT_COLUMNS.join(', ')}`)
  }
  const accounts = new Map<string, { entry: Record<string, unknown>; lines: number[]; keys: object[] }>()
  for (const { line, cells } of body) {
    const named: Cells = Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? '']))
    const email = named.email ?? ''
    const known = accounts.get(email) ?? { entry: {}, lines: [line], keys: [] as object[] }
    accounts.set(email, known)
    for (const [name, said] of Object.entries(accountOf(named))) {
      if (name in known.entry && known.entry[name] !== said) {
        problems.push(`${path}:${line}  ${name}: another row of ${email} has another value`)
      }
      known.entry[name] = said
    }
    if (named.key) {
      if (known.keys.length > 0) known.lines.push(line)
      known.keys.push(keyOf(named))
    } else if (named.key_id) problems.push(`${path}:${line}  key_id: needs a name in the column key`)
  }
  const listed = [...accounts.values()]
  return {
    value: { accounts: listed.map(({ entry, keys }) => ({ ...entry, ...(keys.length > 0 && { keys }) })) },
    // The first key of an account stands on its first line.
    placeOf: ([, account, , key]) => `${path}:${listed[Number(account)]?.lines[Number(key ?? 0)] ?? 1}`,
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
  const { models, disabled, expires } = cells
  const limits = {
    ...numbered('requests_per_minute', cells.requests_per_minute),
    ...numbered('tokens_per_minute', cells.tokens_per_minute),
    ...numbered('concurrent', cells.concurrent),
  }
  const caps = { ...given('day', cells.cap_day), ...given('month', cells.cap_month) }
  return {
    ...{ name: cells.key, kind: cells.kind },
    ...given('id', cells.key_id),
    ...(models && { models: models === 'all' ? null : models.split(' ') }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(Object.keys(caps).length > 0 && { caps }),
    ...given('expires', expires),
    ...(disabled && { disabled: disabled === 'true' ? true : disabled === 'false' ? false : disabled }),
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

/** Others may not read it. */
const PRIVATE = 0o600
const OTHERS = 0o077

function openSecrets(path: string): SecretsFileOutcome {
  let file: number
  try {
    file = openSync(path, 'a', PRIVATE)
  } catch (error) {
    return {
      kind: 'refused',
      message: `${path} cannot be written: ${whyNotWritten(error) ?? (error as Error).message}.`,
    }
  }
  if ((fstatSync(file).mode & OTHERS) !== 0) {
    closeSync(file)
    return { kind: 'refused', message: `${path} can be read by other users. Remove it, or run: chmod 600 ${path}` }
  }
  return {
    kind: 'open',
    write(text) {
      writeSync(file, text)
      fsyncSync(file)
    },
    close: () => closeSync(file),
  }
}
