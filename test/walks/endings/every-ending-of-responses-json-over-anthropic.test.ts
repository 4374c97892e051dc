import { vi } from 'vitest'
import { describeColumn } from './describe-column.ts'

// Half a minute in earnest; nobody waits for that here.
vi.mock(import('../../../src/ledger/gate.ts'), async (original) => {
  const { createLedgerGate } = await original()
  return { createLedgerGate: () => createLedgerGate(300) }
})

describeColumn('responses JSON over an anthropic lane')
