import type { Fields } from '../../../src/lib/types.ts'

/** At the endpoint; by a trigger, as Codex does it; or by a trigger at the end of a chain of stored responses. */
export type CompactionKind = 'at-endpoint' | 'by-trigger' | 'in-chain'

export const user = (content: string): Fields => ({ type: 'message', role: 'user', content })

/** What an agent carries from one request to the next, whole or by the id of the last response. */
export interface AgentContext {
  /** From now on by id. */
  isChained: boolean
  /** What a request says of the conversation with these items at its end. */
  bodyWith(more: readonly Fields[]): { readonly input: readonly Fields[]; readonly store: boolean } & Fields
  answered(more: readonly Fields[], response: Fields): void
  compacted(kind: CompactionKind, answer: Fields): void
}

const DEVELOPER = { type: 'message', role: 'developer', content: 'You are a miller. Keep to the point.' }
const ROLES_KEPT: ReadonlySet<unknown> = new Set(['user', 'developer'])

export function createAgentContext(): AgentContext {
  let items: Fields[] = [DEVELOPER]
  let previous: string | undefined
  const context: AgentContext = {
    isChained: false,
    bodyWith(more) {
      if (!context.isChained) return { input: [...items, ...more], store: false }
      if (previous === undefined) return { input: [...items, ...more], store: true }
      return { previous_response_id: previous, input: more, store: true }
    },
    answered(more, { id, output }) {
      items.push(...more, ...(output as Fields[]))
      previous = context.isChained ? String(id) : undefined
    },
    compacted(kind, { id, output }) {
      const made = output as Fields[]
      previous = kind === 'in-chain' ? String(id) : undefined
      if (kind === 'at-endpoint') items = [...made]
      if (kind === 'by-trigger') items = [...items.filter(({ role }) => ROLES_KEPT.has(role)), ...made]
    },
  }
  return context
}
