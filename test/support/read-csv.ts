/** The rows of a CSV file (RFC 4180), each by the names of the first line. */
export function rowsOfCsv(text: string): Readonly<Record<string, string>>[] {
  const [names = [], ...rows] = text.split('\r\n').slice(0, -1).map(cellsOf)
  return rows.map((cells) => Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ''])))
}

const cellsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain = '']) =>
    quoted === undefined ? plain : quoted.replaceAll('""', '"'),
  )
