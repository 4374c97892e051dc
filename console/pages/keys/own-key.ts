import type { AnswerOf } from '../../../src/contract/console-api.ts'

export type OwnKey = AnswerOf<'GET /keys/:key'>
export type ListedKey = AnswerOf<'GET /keys'>['items'][number]
/** What both say of a key. */
export type KeyFacts = Omit<OwnKey, 'models'>
export type CreatedKey = AnswerOf<'POST /keys'>

/** Everything that can be done to a key but for disabling, which asks nothing back. */
export type KeyAction = 'edit' | 'rename' | 'rotate' | 'revoke'

export interface PickedAction {
  readonly act: KeyAction
  readonly key: KeyFacts
}
