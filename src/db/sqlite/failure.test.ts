import { expect, it } from 'vitest'
import { SqlFailure } from '../sql-store.ts'
import { describeTrouble, isDamage } from './failure.ts'

const failure = (code: string) => new Error('while opening', { cause: new SqlFailure('it failed', code) })

it.each([
  ['SQLITE_NOTADB', /^x\.db is not a database, or its first page is damaged\. Restore it from a backup/],
  ['SQLITE_CORRUPT', /^x\.db is damaged\. Restore it from a backup/],
  ['SQLITE_FULL', /^The disk of x\.db is full\. Make room/],
  ['SQLITE_READONLY', /^x\.db cannot be opened for writing\. Give the user/],
  ['SQLITE_CANTOPEN', /^x\.db cannot be opened for writing\. Give the user/],
  ['SQLITE_IOERR', /^x\.db cannot be read from its disk/],
])('%s names the file and the cure, wherever in the chain of causes it stands', (code, words) => {
  expect(describeTrouble('x.db', failure(code))).toMatch(words)
  expect(isDamage(failure(code))).toBe(code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT')
})

it('what the system says of a file is told in the same words, and anything else is left to who knows more', () => {
  const ofSystem = (code: string) => Object.assign(new Error('no'), { code })
  expect(describeTrouble('x.db', ofSystem('EACCES'))).toMatch(/cannot be opened for writing/)
  expect(describeTrouble('x.db', ofSystem('ENOSPC'))).toMatch(/is full/)
  expect(describeTrouble('x.db', new Error('a bug'))).toBe(undefined)
  expect(describeTrouble('x.db', failure('SQLITE_CONSTRAINT_UNIQUE'))).toBe(undefined)
})
