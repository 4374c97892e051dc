import type { AnswerOf } from '../../../src/contract/console-api.ts'

export type OwnKey = AnswerOf<'GET /keys/:key'>
export type ListedKey = AnswerOf<'GET /keys'>['items'][number]
/** What both say of a key. */
export type KeyFacts = Omit<OwnKey, 'models'>
export type MadeKey = AnswerOf<'POST /keys'>

/** Everything that can be done to a key but for disabling, which asks nothing back. */
export type KeyAct = 'edit' | 'rename' | 'rotate' | 'revoke'

export interface PickedAct {
  readonly act: KeyAct
  readonly key: KeyFacts
}
