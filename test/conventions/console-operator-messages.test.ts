import { expect, it } from 'vitest'
import { audit as germanAudit } from '../../console/messages/de/audit.ts'
import { lanes as germanLanes } from '../../console/messages/de/lanes.ts'
import { audit } from '../../console/messages/en/audit.ts'
import { lanes } from '../../console/messages/en/lanes.ts'
import type { AuditAction } from '../../src/admin/audit.ts'
import type { OpenReason } from '../../src/routing/circuit-breaker.ts'

// The compiler proves these two ways: whatever the server can say has words, and there are no words for what it cannot.
const actions: readonly Readonly<Record<AuditAction, string>>[] = [audit.actions, germanAudit.actions]
const reasons: readonly Readonly<Record<OpenReason, string>>[] = [lanes.reasons, germanLanes.reasons]
const strangers: readonly Exclude<keyof typeof audit.actions, AuditAction>[] = []
const strangeReasons: readonly Exclude<keyof typeof lanes.reasons, OpenReason>[] = []

it('the console has words for every act in the trail and for every reason why a lane is aside', () => {
  for (const words of [...actions, ...reasons]) {
    expect(Object.values(words).filter((word) => word.trim() === '')).toEqual([])
  }
  expect([...strangers, ...strangeReasons]).toEqual([])
})
