// An account with 200 people, 20 teams and 1,000 keys with caps, as a company would have it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPasswords } from '../../../dist/auth/hash-password.js'
import { openDatabase } from '../../../dist/db/open-database.js'
import { systemClock } from '../../../dist/lib/clock.js'
import { millrace } from '../../program/program.mjs'

const FIRST = `ada bruno carla dmitri elif farah greta hugo ines jonas keiko lukas mira nadia omar
  priya quentin rosa sven tomas`.split(/\s+/)
const LAST = 'abara bauer costa dietrich-wasserstein eriksen fontaine garcia haddad ivanova jansen'.split(' ')
const TEAMS = `platform search checkout mobile data payments growth security design support research finance legal
  infrastructure quality internal-tools machine-learning developer-experience customer-success site-reliability`.split(
  /\s+/,
)
const USES = ['editor', 'agent', 'nightly evaluation', 'notebook', 'review bot for pull requests']
export const KEYS_OF_ORGANISATION = 1000
const ROLES = { 1: 'admin', 2: 'admin', 3: 'viewer' }
/** What a request costs on average, for caps that are nearly used up. */
const MEAN_USD = 0.018

const people = LAST.flatMap((last) => FIRST.map((first) => `${first}.${last}@example.com`))

/** Of the operator, whose email is that of the account. The other people cannot sign in. */
export const PASSWORD = 'to look at pages'

/** To an account that exists. */
export async function addOrganisation(place, { email, receipts, below }) {
  const monthly = (receipts * MEAN_USD) / 12
  /** For a part of the traffic, with some room. */
  const cap = (part) => String(Math.max(1, Math.ceil(monthly * part * (1 + below(100) / 100))))
  const file = join(place.data, '..', 'organisation.jsonl')
  const account = {
    email,
    people: people.map((person, index) => ({
      email: person,
      ...(index % 4 === 1 && { caps: { day: cap(0.004), tokens_day: 50_000_000 } }),
      ...(index % 10 === 3 && { caps: { month: cap(0.02) } }),
    })),
    teams: TEAMS.map((name, index) => ({ name, ...(index % 5 !== 4 && { caps: { month: cap(0.09) } }) })),
    new_key_caps: { month: '50.00' },
    keys: Array.from({ length: KEYS_OF_ORGANISATION }, (_, index) => ({
      ...ownersOf(Math.floor(index / USES.length)),
      name: `${people[Math.floor(index / USES.length)].split('@')[0]} ${USES[index % USES.length]}`,
      kind: index % 7 === 3 ? 'builder' : 'wallet',
      caps: index % 3 === 0 ? { day: cap(0.01) } : {},
    })),
  }
  writeFileSync(file, JSON.stringify(account))
  await insertPeople(place, email)
  await millrace(place, 'apply', '-f', file, '--yes', '--secrets-to', join(place.data, '..', 'keys.jsonl'))
}

const ownersOf = (person) => ({ person: people[person], team: TEAMS[person % TEAMS.length] })

async function insertPeople({ data }, email) {
  const database = await openDatabase({ path: join(data, 'ledger.db'), clock: systemClock })
  const [{ row }] = await database.file.all('SELECT row FROM accounts WHERE email = ?', [email])
  const sql = `INSERT INTO people (id, email, role, account, password, created_at, password_changed_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)`
  const now = systemClock.now()
  const idOf = (index) => `usr_${String(index).padStart(20, 'a')}`
  const rows = [
    [idOf('owner'), email, 'operator', row, await createPasswords().hash(PASSWORD), now, now],
    ...people.map((person, index) => [idOf(index), person, ROLES[index] ?? 'member', row, 'none', now, now]),
  ]
  await database.file.atomic([{ sql, rows }])
  await database.close()
}
