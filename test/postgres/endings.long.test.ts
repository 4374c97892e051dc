import { COLUMNS } from '../e2e/endings/columns.ts'
import { describeColumn } from '../e2e/endings/describe-column.ts'
import type { Ending } from '../e2e/endings/ending.ts'

/** The main endings of a stream and of a JSON answer. `WHOLE_MATRIX=1` plays all of them in all columns. */
const NAMES: ReadonlySet<string> = new Set([
  'completed',
  'usage absent',
  'usage beyond the hold',
  'broken in the middle',
  'the second lane after a 503',
  'client gone in the middle',
  'client gone, in the background',
  'cancelled in the background',
  'followed by others while it runs',
  'attached to by another client, and the first one gone',
  'cut where the budget of its run ends',
])
const isWhole = process.env.WHOLE_MATRIX === '1'
/** An outage of PostgreSQL is another one than that of a file (`outages.long.test.ts`), and no balance is changed there behind the ledger. */
const FILE_ONLY: ReadonlySet<string | undefined> = new Set(['the books are away', 'the account is frozen'])
const isChosen = ({ name, act }: Ending): boolean => (isWhole ? !FILE_ONLY.has(act) : NAMES.has(name))
const SHORT = [
  'chat JSON',
  'chat stream',
  'responses stream',
  'responses stream over a gemini lane',
  'chat stream over an anthropic lane',
]

for (const { name } of COLUMNS) if (isWhole || SHORT.includes(name)) describeColumn(name, isChosen)
