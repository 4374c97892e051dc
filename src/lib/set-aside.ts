import { existsSync, renameSync } from 'node:fs'

/** Why a file of the data folder is not used. It stands in the file's new name. */
export type AsideReason = 'damaged' | 'other-ledger' | 'ahead'

/** A file that was given another name, so that nothing of it is served and nothing of it is lost. */
export interface SetAside {
  readonly file: string
  readonly reason: AsideReason
}

/** What SQLite keeps beside a database; it finds them again by the new name. */
const COMPANIONS = ['', '-wal', '-shm', '-journal']

export const ASIDE_NAME = /\.set-aside-(?:damaged|other-ledger|ahead)-[0-9TZ.-]+(?:-wal|-shm|-journal)?$/

/** Renames a closed file and what belongs to it. A name that is taken is never written over. */
export function setAside(path: string, reason: AsideReason, now: number): SetAside {
  const time = new Date(now).toISOString().replaceAll(':', '-')
  let file = `${path}.set-aside-${reason}-${time}`
  for (let count = 2; existsSync(file); count++) file = `${path}.set-aside-${reason}-${time}-${count}`
  for (const companion of COMPANIONS) {
    if (existsSync(`${path}${companion}`)) renameSync(`${path}${companion}`, `${file}${companion}`)
  }
  return { file, reason }
}
