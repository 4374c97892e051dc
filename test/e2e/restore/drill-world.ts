import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'

export const FILES = ['ledger.db', 'content.db', 'keyring.json', 'settles.journal'] as const
export type DataFile = (typeof FILES)[number]

/** Something that only its account may ever see, even if an earlier version made it. */
export interface Kept {
  readonly owner: TestAccount
  readonly requestId: string
  /** Of a stored response, and of an item of its output. */
  readonly response?: { readonly id: string; readonly item: string }
  /** Of an answer that is given again. */
  readonly repeat?: { readonly idempotencyKey: string; readonly body: object; readonly text: string }
}

/** What the files in a folder have: copied with them, and put back with them. */
export interface Holdings {
  /** Requests of which the ledger has a receipt. */
  readonly ledger: ReadonlySet<string>
  /** Accounts that the ledger has. */
  readonly accounts: ReadonlySet<string>
  /** Requests of which content.db has something. */
  readonly content: ReadonlySet<string>
}

const EMPTY: Holdings = { ledger: new Set(), accounts: new Set(), content: new Set() }

/** An installation through its lives, with one backup of it, and a note of everything that it ever gave to anybody. */
export interface DrillWorld {
  readonly folder: string
  readonly backup: string
  server: TestServer | undefined
  holdings: Holdings
  backedUp: (Holdings & { readonly files: readonly DataFile[] }) | undefined
  readonly kept: Kept[]
  readonly people: TestAccount[]
  note(what: Partial<Record<keyof Holdings, string>>): void
  start(): Promise<TestServer>
  stop(): Promise<void>
  signUp(): Promise<void>
  /** Moves files of the server, which is stopped, from one folder to another, as an operator would. */
  copy(from: string, to: string, files: readonly DataFile[]): Promise<void>
  close(): Promise<void>
}

export async function openDrillWorld(): Promise<DrillWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-drill-'))
  const backup = await mkdtemp(join(tmpdir(), 'millrace-drill-backup-'))
  const world: DrillWorld = {
    ...{ folder, backup, server: undefined, holdings: EMPTY, backedUp: undefined, kept: [], people: [] },
    note(what) {
      const [ledger, accounts, content] = (['ledger', 'accounts', 'content'] as const).map((name) =>
        what[name] === undefined ? world.holdings[name] : new Set([...world.holdings[name], what[name]]),
      )
      world.holdings = { ledger: ledger!, accounts: accounts!, content: content! }
    },
    async start() {
      world.server ??= await startServer({ folder })
      return world.server
    },
    async stop() {
      await world.server?.close()
      world.server = undefined
    },
    async signUp() {
      const person = await openAccount(await world.start())
      world.people.push(person)
      world.note({ accounts: person.id })
    },
    async copy(from, to, files) {
      for (const name of files) {
        // As documented: what SQLite keeps beside a database belongs to it alone.
        for (const old of (await readdir(to)).filter((other) => other === name || other.startsWith(`${name}-`))) {
          await rm(join(to, old))
        }
        for (const found of (await readdir(from)).filter((other) => other === name || other === `${name}-wal`)) {
          await cp(join(from, found), join(to, found))
        }
      }
    },
    async close() {
      await world.stop()
      await rm(folder, { recursive: true, force: true })
      await rm(backup, { recursive: true, force: true })
    },
  }
  return world
}
