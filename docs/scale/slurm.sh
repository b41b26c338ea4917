#!/bin/bash
#SBATCH --job-name=grpo
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@300
#SBATCH --requeue
#SBATCH --open-mode=append

# A folder that all nodes see. A job that is put back into the queue goes on with its run.
run=$HOME/runs/gsm8k
if [ -e "$run/config.json" ]; then
  set -- --resume "$run" --restart
else
  set -- --config gsm8k.yaml output="$run"
fi

# One task of srun is one process; --kill-on-bad-exit ends the others where one fails.
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" --kill-on-bad-exit=1 npx grpo train "$@"
