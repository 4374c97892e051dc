import { describeColumn } from './describe-column.ts'

describeColumn('responses JSON')
