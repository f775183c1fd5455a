python3 -c 'import os, shutil; p = "/srv/x"; shutil.rmtree(p); os.system("rm y")'; node -e 'require("fs").rmSync("a"); fetch("https://x.example")'
perl -e 'unlink "a"; system("ls")'; ruby -e 'File.delete("b"); `id`'; awk 'BEGIN { system("rm c") }' f; php -r 'exec("ls");'
