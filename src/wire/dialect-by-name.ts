import type { LaneManners } from './lane-manners.ts'

/** Finds the row of a dialect, by its name or another one of it; a name that no row has speaks the protocol plainly. */
export function dialectByName<Dialect extends LaneManners>(
  rows: readonly Dialect[],
  plain: Dialect,
): (name: string) => Dialect {
  const byName = new Map(rows.flatMap((row) => [row.name, ...row.aliases].map((name) => [name, row] as const)))
  return (name) => byName.get(name) ?? plain
}
