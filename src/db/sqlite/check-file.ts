import { connect, immutableUri, type NativeConnection } from './connection.ts'

/**
 * The body of a process that checks one database file and prints its findings as JSON. It is a process of its own because it
 * must not block a serving thread, and because some damage ends the process that reads it. The file is opened as immutable,
 * which takes no lock; the parent ensures that it does not change.
 */
const FINDINGS_MAX = 100

function check(path: string): readonly string[] {
  const connection = connect(immutableUri(path))
  const [schema] = connection.prepare('SELECT COUNT(*) AS count FROM sqlite_master').all([])
  // A library without URI names has created an empty file with this name.
  if (Number(schema?.count) === 0) return ['the file has no tables, or cannot be opened for reading alone']
  if (process.argv[3] === 'quick') return checkStructure(connection, 'quick_check')
  return [...checkStructure(connection, 'integrity_check'), ...checkTexts(connection)].slice(0, FINDINGS_MAX)
}

/** `quick_check` does not compare indexes with their tables. */
function checkStructure(connection: NativeConnection, check: 'integrity_check' | 'quick_check'): string[] {
  const rows = connection.prepare(`PRAGMA ${check}(${FINDINGS_MAX})`).all([])
  return rows.map((row) => String(row[check])).filter((finding) => finding !== 'ok')
}

/** SQLite itself does not check that a text is UTF-8. */
function checkTexts(connection: NativeConnection): string[] {
  const findings: string[] = []
  const tables = connection.prepare(
    "SELECT name AS name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'",
  )
  for (const { name: table } of tables.all([])) {
    const columns = connection.prepare(`SELECT name AS name FROM pragma_table_info('${table}') WHERE type = 'TEXT'`)
    for (const { name: column } of columns.all([])) {
      const cells = `SELECT CAST("${column}" AS BLOB) AS cell FROM "${table}" WHERE "${column}" GLOB '*[^ -~]*' LIMIT 100000`
      const broken = connection
        .prepare(cells)
        .all([])
        .filter(({ cell }) => !isText(cell)).length
      if (broken > 0) findings.push(`${broken} texts in ${table}.${column} are not UTF-8`)
    }
  }
  return findings
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function isText(bytes: unknown): boolean {
  try {
    utf8.decode(bytes as ArrayBuffer)
    return true
  } catch {
    return false
  }
}

let findings: readonly string[]
try {
  findings = check(process.argv[2] ?? '')
} catch (error) {
  findings = [(error as Error).message]
}
process.stdout.write(JSON.stringify(findings))
