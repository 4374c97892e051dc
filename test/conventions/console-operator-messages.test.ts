import { expect, it } from 'vitest'
import { audit as germanAudit } from '../../console/messages/de/audit.ts'
import { operator as germanOperator } from '../../console/messages/de/operator.ts'
import { audit } from '../../console/messages/en/audit.ts'
import { operator } from '../../console/messages/en/operator.ts'
import type { AuditAction } from '../../src/admin/audit.ts'
import type { OpenReason } from '../../src/routing/circuit-breaker.ts'

// The compiler proves both directions: every value of the server has a message, and every message has a value.
const actions: readonly Readonly<Record<AuditAction, string>>[] = [audit.actions, germanAudit.actions]
const reasons: readonly Readonly<Record<OpenReason, string>>[] = [operator.lanes.reasons, germanOperator.lanes.reasons]
const extraActions: readonly Exclude<keyof typeof audit.actions, AuditAction>[] = []
const extraReasons: readonly Exclude<keyof typeof operator.lanes.reasons, OpenReason>[] = []

it('the console has a message for every audit action and for every reason why a lane is unavailable', () => {
  for (const messages of [...actions, ...reasons]) {
    expect(Object.values(messages).filter((text) => text.trim() === '')).toEqual([])
  }
  expect([...extraActions, ...extraReasons]).toEqual([])
})
