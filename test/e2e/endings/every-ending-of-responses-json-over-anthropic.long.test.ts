import { describeColumn } from './describe-column.ts'

describeColumn('responses JSON over an anthropic lane')
