import { expect } from 'vitest'
import type { Caller } from '../model/caller.ts'
import { type OperationName, type OperationValue, runOperation } from './operations.ts'
import type { Outcome, Refused } from './outcome.ts'
import { type LedgerOfEachTest, useTestLedger } from './use-test-books.fixture.ts'

export interface OperatorLedger {
  readonly books: LedgerOfEachTest
  run(name: string, args: unknown): Promise<Outcome<unknown>>
  /** What it gives; refused, the test fails. */
  must<Name extends OperationName>(name: Name, args: unknown): Promise<OperationValue<Name>>
  /** Why it was refused; done, the test fails. */
  refusal(name: OperationName, args: unknown): Promise<Refused>
  /** Two on a page, from the first to the last. */
  pagesOf(name: ListName, args?: object): Promise<Record<string, unknown>[][]>
  /** A key of `a@example.com`. */
  makeKey(args?: object): Promise<OperationValue<'keys.create'>>
  callerOf(secret: string): Promise<Caller>
}

type ListName = 'accounts.list' | 'keys.list' | 'people.list' | 'wallet.entries'

/** Books of each test, asked as the socket and the command line ask. */
export function useOperatorLedger(): OperatorLedger {
  const books = useTestLedger()

  const status = () => ({ running: false, version: '0', node: '0', data: '' }) as const
  const run = (name: string, args: unknown) => runOperation({ ...books.deps, status }, name, args)

  const must: OperatorLedger['must'] = async (name, args) => {
    const outcome = await run(name, args)
    if (outcome.kind === 'refused') throw new Error(`${name}: ${outcome.message}`)
    // What cannot go through the socket must not be in a value.
    expect(JSON.parse(JSON.stringify(outcome.value))).toEqual(outcome.value)
    return outcome.value as never
  }

  return {
    books,
    run,
    must,
    async refusal(name, args) {
      const outcome = await run(name, args)
      if (outcome.kind === 'done') throw new Error(`${name} was not refused: ${JSON.stringify(outcome.value)}`)
      return outcome
    },
    async pagesOf(name, args = {}) {
      const pages: Record<string, unknown>[][] = []
      for (let after: string | null | undefined; after !== null; ) {
        const { items, next } = await must(name, { ...args, limit: 2, ...(after !== undefined && { after }) })
        pages.push(items.map((item) => ({ ...item })))
        after = next
      }
      return pages
    },
    async makeKey(args = {}) {
      await run('accounts.create', { email: 'a@example.com' })
      return must('keys.create', { account: 'a@example.com', kind: 'wallet', name: 'ci', ...args })
    },
    async callerOf(secret) {
      const outcome = await books.finder.find(secret)
      if (outcome.kind !== 'caller') throw new Error(outcome.reason)
      return outcome.caller
    },
  }
}
