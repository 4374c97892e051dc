import { describeColumn } from './describe-column.ts'

describeColumn('responses stream over a gemini lane')
