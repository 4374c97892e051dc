import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseAccountsCsv } from '../cli/accounts-csv.ts'
import type { AccountsFileOutcome, AccountsFiles, SecretsFileOutcome } from '../cli/cli-services.ts'
import { parseYaml, placeAt, plainOf } from '../config/parse-yaml.ts'
import { type ConfigPath, formatPath, formatPlace, formatProblem } from '../config/problem.ts'
import { accountsFile } from '../contract/accounts-file.ts'
import { whyNotWritten } from '../lib/files.ts'

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
  if (/\.csv$/i.test(path)) return parseAccountsCsv
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
